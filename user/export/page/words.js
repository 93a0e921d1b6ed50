// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What the timeline says of a box: its text, its tip, its details.
"use strict";

const GPUTRACE_KERNEL = 2; // a category

// Drops the prefix that nearly all kernels of templates have.
const gputraceShown = (label) => label[2] === GPUTRACE_KERNEL ? label[0].replace(/^void /, "") : label[0];

// What a box says: of a gap the line to blame, without its function or file if these do not fit; else what it is charged to.
function gputraceBoxText(label, room) {
	const parts = /^((?:\u2248 )?[^ ]*?)(:\d+)\b/.exec(label[1]);

	if (label[2] < GPUTRACE_GAP_CATEGORY)
		return gputraceShown(label);
	return [label[1], ...(parts ? [parts[0], parts[2]] : [])].find((text) => text && gputraceFitted(text, room) === text) || label[1] || gputraceCategory(label[2]).name;
}

function gputraceBytes(number) {
	const unit = [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["KB", 1e3]].find(([, least]) => number >= least);

	return unit ? (number / unit[1]).toFixed(1) + " " + unit[0] : number + " B";
}

// What a box of memory, or of a counter of a GPU, which has a unit, holds.
const gputraceHeld = (number, label) => label[1] ? number.toLocaleString("en") + " " + label[1] : gputraceBytes(number);

// What a box is, in parts.
function gputraceWords(hit) {
	const [, where, category] = hit.label, kind = gputraceCategory(category).name, name = gputraceShown(hit.label);

	if (hit.row.kind === GPUTRACE_MEMORY)
		return [gputraceHeld(hit.number, hit.label) + (where ? "" : " held") + (hit.count > 1 ? " at most" : ""), hit.label[0], gputraceTime(hit.length) + ", from " + gputraceTime(hit.start) + " on"];
	if (hit.guessed)
		return ["not read yet: some " + hit.count.toLocaleString("en") + " slices in " + gputraceTime(hit.length) + " are expected, of " + gputraceTime(hit.busy),
			"as where it was read next to here, where the longest is " + name + (where ? "  " + where : "")];
	if (hit.row.kind === GPUTRACE_GAPS && hit.count === 1)
		return ["the GPU idle for " + gputraceTime(hit.length) + ", from " + gputraceTime(hit.start) + " on" + (where ? ": " + where : ""), name];
	if (hit.count > 1)
		return [hit.count.toLocaleString("en") + " slices in " + gputraceTime(hit.length) + ", which took " + gputraceTime(hit.busy),
			"the longest: " + name + (where ? "  " + where : ""), "from " + gputraceTime(hit.start) + " on: zoom in to see each"];
	return [name, kind + (where ? "  " + where : ""), gputraceTime(hit.length) + ", from " + gputraceTime(hit.start) + " on", hit.row.label];
}

// What the thread of a picked gap ran or waited for meanwhile, as far as it is drawn.
function gputraceMeanwhile(led, hits) {
	const end = led.hit.start + led.hit.length;
	const part = (hit) => Math.min(end, hit.start + hit.length) - Math.max(led.hit.start, hit.start);
	const isSeen = (hit) => hit.row.kind === GPUTRACE_OFF_CPU || hit.row.kind === GPUTRACE_SAMPLES; // waits and samples say more than functions
	const there = hits.filter((hit) => led.tracks.has(hit.row.track) && part(hit) > 0)
		.sort((a, b) => isSeen(b) - isSeen(a) || part(b) - part(a) || b.depth - a.depth);

	return there.slice(0, 3).map((hit) => "meanwhile " + hit.row.label + ": " + (hit.count > 1 ? hit.count.toLocaleString("en") + " \u00d7 " : "") +
		gputraceShown(hit.label) + (hit.label[1] ? "  " + hit.label[1] : "") + ", " + gputraceTime(part(hit)));
}

// other: the launch of GPU work, or the GPU work of a call; stack: {own, frames}; either may be missing.
function gputraceMoreWords(picked, other, stack) {
	const lines = [];

	if (other && gputraceIsOnGpu(picked.row.kind))
		lines.push("launched by " + other.name + (other.where ? "  " + other.where : "") + ", " + gputraceTime(Math.abs(picked.start - other.start)) +
			(picked.start >= other.start ? " before it began" : " after it began"));
	else if (other)
		lines.push("GPU work " + other.name.replace(/^void /, "") + ", " + gputraceTime(other.length) + ", began " + gputraceTime(Math.abs(other.start - picked.start)) +
			(other.start >= picked.start ? " after the call" : " before the call"));
	if (stack && stack.frames.length) {
		if (stack.own > 0)
			lines.push("own line " + stack.frames[stack.own]);
		lines.push("stack " + stack.frames.join(" < "));
	}
	return lines;
}
