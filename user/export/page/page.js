// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the parts of the page share.  Texts come from targets: they become text nodes, never HTML.
"use strict";

// An element with properties and children, which are elements or texts.
function gputraceElement(tag, properties, ...children) {
	const made = document.createElement(tag);

	for (const [name, value] of Object.entries(properties || {}))
		if (name in made)
			made[name] = value;
		else
			made.setAttribute(name, value);
	made.append(...children.filter((child) => child !== null && child !== undefined));
	return made;
}

function gputraceTime(ns, like) {
	const size = Math.abs(like === undefined ? ns : like);

	if (size >= 1e9)
		return (ns / 1e9).toFixed(size >= 1e10 ? 3 : 4) + " s";
	if (size >= 1e6)
		return (ns / 1e6).toFixed(3) + " ms";
	return size >= 1e3 ? (ns / 1e3).toFixed(3) + " us" : Math.round(ns) + " ns";
}
