// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// What a user does at the timeline: wheel, pointer, keys, buttons, search.
"use strict";

function gputraceListen({view, canvas, search, next, state, source, info, show, zoomBy, pan, middle, wide, timeAt, hitAt, foldAt, toggle, pick, measure, goTo, showTip, hideTip, keep, layOut, draw, ask, readAddress}) {
	const get = (id) => document.getElementById(id);
	let drag = null;

	view.addEventListener("scroll", () => { hideTip(); draw(); ask(); });
	for (const kind of ["scroll", "blur", "resize"])
		window.addEventListener(kind, hideTip, {passive: true});
	for (const kind of ["pointerleave", "pointercancel", "pointerdown", "wheel"])
		canvas.addEventListener(kind, hideTip, {passive: true});
	document.addEventListener("pointermove", (event) => event.target !== canvas && hideTip(), {passive: true});
	canvas.addEventListener("wheel", (event) => {
		const sideways = event.shiftKey ? event.deltaY : event.deltaX, box = canvas.getBoundingClientRect();

		if (event.ctrlKey || event.metaKey)
			zoomBy(Math.exp(event.deltaY / 300), timeAt(Math.max(gputraceGutter(view), event.clientX - box.left)));
		else if (sideways)
			pan(sideways / wide());
		else
			return;
		event.preventDefault();
	}, {passive: false});
	canvas.addEventListener("pointerdown", (event) => {
		drag = {x: event.clientX, from: state.from, to: state.to, moved: false, measures: event.shiftKey};
		canvas.setPointerCapture(event.pointerId);
		view.focus({preventScroll: true}); // the slice that is pressed stays below the pointer
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!drag)
			return showTip(event);
		const by = (drag.x - event.clientX) / wide() * (drag.to - drag.from);

		drag.moved = drag.moved || Math.abs(event.clientX - drag.x) > 3;
		if (drag.moved && drag.measures)
			measure(drag.x, event.clientX);
		else if (drag.moved)
			show(drag.from + by, drag.to + by);
	});
	canvas.addEventListener("pointerup", (event) => {
		if (drag && !drag.moved) {
			const fold = foldAt(event);

			fold ? toggle(fold.fold) : pick(hitAt(event));
		}
		drag = null;
	});
	canvas.addEventListener("dblclick", (event) => {
		const hit = hitAt(event);

		if (hit)
			show(hit.start - hit.length * 0.1, hit.start + hit.length * 1.1);
	});
	document.addEventListener("keydown", (event) => {
		const keys = {w: () => zoomBy(0.6, middle()), s: () => zoomBy(1 / 0.6, middle()), a: () => pan(-0.2), d: () => pan(0.2)};
		const arrows = {ArrowLeft: keys.a, ArrowRight: keys.d, "+": keys.w, "=": keys.w, "-": keys.s, Home: () => show(0, info().span), Escape: () => { state.measured = null; pick(); }};
		const does = keys[event.key.toLowerCase()] || (document.activeElement === view ? arrows[event.key] : undefined);

		if (!does || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT")
			return;
		does();
		event.preventDefault();
	});
	get("tl-in").addEventListener("click", () => zoomBy(0.5, middle()));
	get("tl-out").addEventListener("click", () => zoomBy(2, middle()));
	get("tl-left").addEventListener("click", () => pan(-0.5));
	get("tl-right").addEventListener("click", () => pan(0.5));
	get("tl-all").addEventListener("click", () => show(0, info().span));
	search.addEventListener("input", () => { state.find = search.value; state.note = ""; keep(); draw(); });
	const reply = (note) => { state.note = note; draw(); };
	const findFirst = () => source.find(state.find, null, (hit) => {
		if (hit)
			goTo(hit);
		reply(hit ? "; from the start on again" : info().done ? "; nothing is called so" : "; nothing that was read is called so");
	});
	const findNext = () => state.find && source.find(state.find, state.at ? state.at.time : state.from, (hit) => hit ? goTo(hit) : findFirst());

	next.addEventListener("click", findNext);
	search.addEventListener("keydown", (event) => event.key === "Enter" && findNext());
	window.addEventListener("resize", () => { layOut(); draw(); ask(); });
	window.addEventListener("hashchange", readAddress);
}
