// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The time axis of the timeline, its grid, and the pattern for times that were not read yet.
"use strict";

const GPUTRACE_AXIS = 22; // pixels

// As much of a text as fits into so many pixels.
function gputraceFitted(text, room) {
	const most = Math.floor(room / 6.7);

	return text.length <= most ? text : most > 3 ? text.slice(0, most - 1) + "\u2026" : "";
}

// Pixels of the names of rows: less in a narrow window.
const gputraceGutter = (view) => Math.min(210, Math.round(view.clientWidth * 0.35));

function gputraceAxis({pen, view, state, x, wide, color}) {
	const AXIS = GPUTRACE_AXIS;

	function tickStep() {
		const span = state.to - state.from, steps = wide() / 110;
		let step = Math.pow(10, Math.floor(Math.log10(span / steps)));

		return step * ([1, 2, 5, 10].find((by) => span / (step * by) <= steps) || 10);
	}

	// With no more digits than the step has.
	function tick(at, step) {
		const [unit, size] = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]].find(([, least]) => step >= least / 10) || ["ns", 1];

		return (at / size).toFixed(Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9))) + " " + unit;
	}

	function eachTick(use) {
		const step = tickStep();

		for (let at = Math.ceil(state.from / step) * step; at <= state.to; at += step)
			use(Math.round(x(at)), at, step);
	}

	function drawGrid() {
		pen.fillStyle = color("--line");
		eachTick((pixel) => pen.fillRect(pixel, AXIS, 1, view.clientHeight));
	}

	function drawAxis() {
		pen.fillStyle = color("--paper");
		pen.fillRect(0, 0, view.clientWidth, AXIS);
		pen.fillStyle = color("--soft");
		eachTick((pixel, at, step) => {
			pen.fillRect(pixel, AXIS - 5, 1, 5);
			if (pixel < view.clientWidth - 90)
				pen.fillText(tick(at, step), pixel + 3, 12);
		});
		pen.fillText(gputraceFitted("since the start", gputraceGutter(view) - 8), 6, 12);
	}

	// The pattern for times that were not read yet, and around them.
	const hatching = (() => {
		const tile = document.createElement("canvas"), on = tile.getContext("2d");

		tile.width = tile.height = 8;
		on.strokeStyle = color("--soft");
		on.globalAlpha = 0.55;
		for (const by of [-8, 0, 8]) {
			on.moveTo(by, 8);
			on.lineTo(by + 8, 0);
		}
		on.stroke();
		return pen.createPattern(tile, "repeat");
	})();

	return {drawGrid, drawAxis, hatching};
}
