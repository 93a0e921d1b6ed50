// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The timeline: a row for each depth of a thread, and for each stream of a GPU.  Data comes from a source: levels of
// detail in the page itself, or a gputrace that answers (view).  All times are nanoseconds since the timeline's start.
// The address holds the view after #: from=, to=, find=, at=TRACK.DEPTH.TIME.
"use strict";

function gputraceTimeline(source) {
	const ROW = 17, GAP = 5, HEAD = 20, LABEL = 26, AXIS = GPUTRACE_AXIS; // pixels
	const START = 0, LENGTH = 1, NAME = 2, COUNT = 3, BUSY = 4, NUMBER = 5, FIELDS = 6; // fields of a box
	const MEMORY = GPUTRACE_MEMORY;
	const LEAST_NS = 50;

	const get = (id) => document.getElementById(id);
	const view = get("tl-view"), space = get("tl-space"), canvas = get("tl-canvas"), tip = get("tl-tip");
	const detail = get("tl-detail"), about = get("tl-about"), legend = get("tl-legend"), search = get("tl-search"), next = get("tl-next");
	const pen = canvas.getContext("2d"), colors = getComputedStyle(document.documentElement);
	const state = {from: 0, to: 1, find: "", at: null, note: "", measured: null, follows: false};
	const open = new Set(), drawnCategories = new Set(); // groups whose idle threads are shown; for the legend
	let linked = null; // {of, hit}: the GPU work of a picked call, or the call of picked GPU work
	let led = null; // {of, hit, tracks}: a picked gap, and the rows of the thread that it is charged to
	let stack = null; // {of, own, frames}: the stack of the picked slice's label
	let info = {span: 1, read: 0, done: false, slices: 0, tracks: []}, answer = null, rows = [], deepest = new Map(), total = 0, hits = [], asked = 0;

	let GUTTER = gputraceGutter(view);

	const time = gputraceTime, color = (name) => colors.getPropertyValue(name).trim();

	// ---- rows -----------------------------------------------------------------------------------------------------

	function layOut() {
		const heightOf = (track, depth) => Math.max(1, depth, deepest.get(track) || 0) * ROW + GAP;

		GUTTER = gputraceGutter(view);
		({rows, total} = gputraceRows(info, heightOf, open, {axis: AXIS, head: HEAD}));
		space.style.height = total + "px";
		view.style.height = Math.min(total + 2, Math.max(160, window.innerHeight * 0.7)) + "px";
	}

	// The reported depth of a track is what is known so far; slices to draw may be deeper.
	function makeRoom() {
		let grows = false;

		for (const [track, depth] of answer.rows) {
			const known = (info.tracks.find((one) => one[0] === track) || [0, 0, 0, 0])[3];

			if (depth >= Math.max(known, deepest.get(track) || 1)) {
				deepest.set(track, depth + 1);
				grows = true;
			}
		}
		if (grows)
			layOut();
	}

	function visibleTracks() {
		const from = view.scrollTop - 200, to = view.scrollTop + view.clientHeight + 200;

		return rows.filter((row) => row.track !== undefined && row.top < to && row.top + row.height > from).map((row) => row.track);
	}

	// ---- drawing --------------------------------------------------------------------------------------------------

	const wide = () => Math.max(100, view.clientWidth - GUTTER);
	const x = (ns) => GUTTER + (ns - state.from) / (state.to - state.from) * wide();
	const timeAt = (pixel) => state.from + (pixel - GUTTER) / wide() * (state.to - state.from);

	const isFound = (label) => state.find !== "" &&
		(label[0].toLowerCase().includes(state.find.toLowerCase()) || label[1].toLowerCase().includes(state.find.toLowerCase()));

	const {drawGrid, drawAxis, hatching} = gputraceAxis({pen, view, state, x, wide, color});

	function drawUnread() {
		const left = Math.max(GUTTER, x(info.read));

		if (info.done || left >= view.clientWidth)
			return;
		pen.fillStyle = hatching;
		pen.fillRect(left, AXIS, view.clientWidth - left, view.clientHeight);
	}

	function nameUnread() {
		const left = Math.max(GUTTER, x(info.read)) + 6;
		const text = gputraceFitted(info.places ? "not read yet: an estimate" : "not read yet", view.clientWidth - left - 12);

		if (info.done || !text)
			return;
		pen.fillStyle = color("--paper");
		pen.fillRect(left, AXIS + 2, pen.measureText(text).width + 8, 15);
		pen.fillStyle = color("--ink");
		pen.fillText(text, left + 4, AXIS + 13);
	}

	function drawBox(row, depth, boxes, at, base, guessed, most) {
		const label = answer.labels[boxes[at + NAME]], count = boxes[at + COUNT];
		const left = Math.max(GUTTER, x(base + boxes[at + START])), end = x(base + boxes[at + START] + boxes[at + LENGTH]);
		const right = Math.min(view.clientWidth, end), top = row.top - view.scrollTop + depth * ROW;

		if (right < GUTTER || left > view.clientWidth)
			return;
		drawnCategories.add(label[2]);
		const width = Math.max(1, right - left - (right - left > 3 && !guessed ? 1 : 0)), found = isFound(label);

		hits.push({row, depth, label, count, start: base + boxes[at + START], length: boxes[at + LENGTH], busy: boxes[at + BUSY],
			number: boxes[at + NUMBER], left, right: Math.max(right, left + 1), top, guessed});
		pen.globalAlpha = (state.find && !found ? 0.35 : 1) * (guessed ? 0.6 : 1);
		pen.fillStyle = found ? color("--found") : gputraceFill(label, count > 1);
		// for several slices, the height shows the part of the time that they took
		const part = row.kind === MEMORY ? Math.max(1, (ROW - 1) * boxes[at + NUMBER] / most) :
			count > 1 ? Math.max(3, (ROW - 1) * Math.min(1, boxes[at + BUSY] / Math.max(1, boxes[at + LENGTH]))) : ROW - 1;
		const name = row.kind === MEMORY ? gputraceHeld(boxes[at + NUMBER], label) : guessed ? "\u2248 " + gputraceBoxText(label, width - 6) :
			count > 1 ? count.toLocaleString("en") + " \u00d7 " + gputraceBoxText(label, width - 6) : gputraceBoxText(label, width - 6);

		pen.fillRect(left, top + ROW - 1 - part, width, part);
		if (width >= LABEL) {
			pen.fillStyle = found ? "#fff" : "#111";
			pen.fillText(gputraceFitted(name, width - 6), left + 3, top + 12);
		}
		pen.globalAlpha = 1;
	}

	function drawLabels() {
		pen.fillStyle = color("--paper");
		pen.fillRect(0, AXIS, GUTTER - 2, view.clientHeight);
		for (const row of rows) {
			const top = row.top - view.scrollTop;

			if (top > view.clientHeight || top + row.height < AXIS)
				continue;
			pen.fillStyle = color(row.fold ? "--soft" : "--ink");
			pen.font = (row.head ? "bold " : "") + "11px ui-monospace, monospace";
			if (top >= AXIS - 4)
				pen.fillText(gputraceFitted(row.head || row.short || row.label, GUTTER - (row.head ? 10 : row.short ? 30 : 20)),
					row.head ? 4 : row.short ? 24 : 14, top + (row.head ? 14 : 12));
			if (!row.head) {
				pen.fillStyle = color("--line");
				pen.fillRect(0, top + row.height - 3, view.clientWidth, 1);
			}
		}
		pen.font = "11px ui-monospace, monospace";
	}

	function draw() {
		const sharp = window.devicePixelRatio || 1, width = view.clientWidth, height = view.clientHeight;

		canvas.width = width * sharp;
		canvas.height = height * sharp;
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
		pen.setTransform(sharp, 0, 0, sharp, 0, 0);
		pen.font = "11px ui-monospace, monospace";
		hits = [];
		drawGrid();
		const byTrack = new Map(rows.filter((row) => row.track !== undefined).map((row) => [row.track, row]));

		const drawRows = (drawn, guessed) => {
			for (const [track, depth, boxes] of drawn) {
				const row = byTrack.get(track), top = row ? row.top - view.scrollTop + depth * ROW : -ROW;

				let most = 1;

				for (let i = NUMBER; row && row.kind === MEMORY && i < boxes.length; i += FIELDS)
					most = Math.max(most, boxes[i]);
				if (top > -ROW && top < height)
					for (let i = 0; i < boxes.length; i += FIELDS)
						drawBox(row, depth, boxes, i, answer.from, guessed, most);
			}
		};

		if (answer)
			drawRows(answer.estimates || [], true);
		drawUnread();
		if (answer)
			drawRows(answer.rows, false);
		nameUnread();
		drawArrow();
		drawMeasured();
		drawLed();
		drawLabels();
		drawAxis();
		say();
		drawLegend();
	}

	// Draws the arrow from a call to its GPU work, if both rows are in the window.
	function drawArrow() {
		const one = pickedHit(), other = linked && state.at && linked.of === state.at && linked.hit;
		const row = other && rows.find((at) => at.track === other.track);

		if (!one || !row)
			return;
		const there = {x: x(other.start), y: row.top - view.scrollTop + other.depth * ROW + ROW / 2, start: other.start};
		const here = {x: x(one.start), y: one.top + ROW / 2, start: one.start};
		const [from, to] = there.start < here.start ? [there, here] : [here, there];
		const bend = Math.max(12, Math.abs(to.x - from.x) / 2);

		pen.strokeStyle = pen.fillStyle = color("--found");
		pen.lineWidth = 1.5;
		pen.beginPath();
		pen.moveTo(from.x, from.y);
		pen.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y);
		pen.stroke();
		pen.beginPath();
		pen.moveTo(to.x, to.y);
		pen.lineTo(to.x - 7, to.y - 4);
		pen.lineTo(to.x - 7, to.y + 4);
		pen.fill();
		pen.lineWidth = 1;
	}

	function drawMeasured() {
		if (!state.measured)
			return;
		const left = Math.max(GUTTER, x(state.measured.from)), right = Math.min(view.clientWidth, x(state.measured.to));

		pen.globalAlpha = 0.18;
		pen.fillStyle = color("--found");
		pen.fillRect(left, AXIS, Math.max(1, right - left), view.clientHeight);
		pen.globalAlpha = 1;
	}

	// Frames the time of a picked gap in the rows of the thread that it is charged to.
	function drawLed() {
		if (!led || led.of !== state.at)
			return;
		const left = Math.max(GUTTER, x(led.hit.start)), right = Math.min(view.clientWidth, x(led.hit.start + led.hit.length));
		const of = rows.filter((row) => led.tracks.has(row.track));

		if (!of.length || right < GUTTER || left > view.clientWidth)
			return;
		const top = of[0].top - view.scrollTop, last = of[of.length - 1];

		pen.strokeStyle = color("--found");
		pen.lineWidth = 1.5;
		pen.strokeRect(left, top - 1, Math.max(2, right - left), last.top + last.height - of[0].top - 2);
		pen.lineWidth = 1;
	}

	function drawLegend() {
		if (legend.dataset.size === String(drawnCategories.size))
			return;
		legend.dataset.size = drawnCategories.size;
		gputraceLegend(legend, drawnCategories);
	}

	// ---- words ----------------------------------------------------------------------------------------------------

	function pickedHit() {
		return state.at && hits.find((hit) => hit.row.track === state.at.track && hit.depth === state.at.depth &&
			hit.start <= state.at.time && hit.start + Math.max(hit.length, 1) > state.at.time);
	}

	// If one slice is picked, asks once for its stack, and for its call or GPU work.
	function askAbout(picked) {
		const at = state.at, onGpu = gputraceIsOnGpu(picked.row.kind);

		if (picked.count > 1 || picked.guessed || picked.row.kind === MEMORY || (linked && linked.of === at))
			return;
		linked = {of: at, hit: null};
		stack = {of: at, own: -1, frames: []};
		source.stack(picked.label[3], (given) => {
			if (state.at !== at)
				return;
			stack = {of: at, own: given.own, frames: given.frames};
			draw();
		});
		if (picked.number)
			source.linked(picked.number, onGpu ? 0 : 1, (hit) => {
				if (state.at !== at || !hit)
					return;
				linked = {of: at, hit};
				draw();
			});
	}

	// Leads from a gap to the thread that it is charged to: unfolds and scrolls to its rows, and shows the gap wide enough.
	function lead(gap) {
		const target = gap.label[4], owner = (info.tracks.find(([track]) => track === target) || [])[5];
		const tracks = new Set(info.tracks.filter((one) => target !== undefined && one[4] <= GPUTRACE_SAMPLES && !gputraceIsOnGpu(one[4]) && one[5] === owner).map(([track]) => track));

		led = {of: state.at, hit: gap, tracks};
		if (!state.follows || !tracks.size)
			return;
		for (const fold of [info.tracks.find(([track]) => track === target)[2], GPUTRACE_IDLE_PROCESSES])
			if (!rows.some((row) => tracks.has(row.track))) {
				open.add(fold);
				layOut();
			}
		const first = rows.find((row) => tracks.has(row.track)), last = rows.filter((row) => tracks.has(row.track)).pop();

		state.follows = false;
		if (first && (first.top < view.scrollTop + AXIS || last.top + last.height > view.scrollTop + view.clientHeight))
			view.scrollTop = Math.max(0, last.top + last.height - view.clientHeight + HEAD);
		if (gap.length < (state.to - state.from) / 8)
			show(gap.start - gap.length * 2, gap.start + gap.length * 3);
		else
			ask();
	}

	function say() {
		let picked = pickedHit();

		if (picked && picked.row.kind === GPUTRACE_GAPS && picked.count === 1 && (!led || led.of !== state.at))
			lead(picked);
		const isOut = !picked && led && led.of === state.at; // the gap itself may have been scrolled away

		picked = picked || (isOut ? led.hit : undefined);
		const found = state.find ? hits.filter((hit) => !hit.guessed && isFound(hit.label)).reduce((sum, hit) => sum + hit.count, 0) : 0;

		about.textContent = time(state.from) + " to " + time(state.to) + " of " + time(info.span) + ": " + time(state.to - state.from) +
			source.said(info, state, answer) + (state.find ? "; found: " + found.toLocaleString("en") + " here" : "") + state.note +
			(info.cut ? "; cut short: the log ends before the trace did, or is still being written" : "") +
			(info.done && !info.tracks.length ? "; nothing was recorded that could be drawn" : "");
		const measured = state.measured ? ["measured: " + time(state.measured.to - state.measured.from) + ", from " + time(state.measured.from) + " to " + time(state.measured.to)] : [];

		detail.textContent = measured.concat(picked ? [gputraceWords(picked).join("   "), ...(led && led.of === state.at ? gputraceMeanwhile(led, hits) : []),
			...gputraceMoreWords(picked, linked && linked.of === state.at && linked.hit, stack && stack.of === state.at && stack)] : []).join("\n");
		if (picked)
			askAbout(picked);
		if (picked && !isOut) {
			pen.strokeStyle = color("--ink");
			pen.lineWidth = 2;
			pen.strokeRect(picked.left, picked.top, Math.max(2, picked.right - picked.left - 1), ROW - 1);
			pen.lineWidth = 1;
		}
	}

	// ---- the view -------------------------------------------------------------------------------------------------

	function keep() {
		const given = new URLSearchParams(location.hash.slice(1)), at = state.at;

		given.set("from", Math.round(state.from));
		given.set("to", Math.round(state.to));
		state.find ? given.set("find", state.find) : given.delete("find");
		at ? given.set("at", [at.track, at.depth, Math.round(at.time)].join(".")) : given.delete("at");
		history.replaceState(null, "", "#" + given);
	}

	function ask() {
		const mine = ++asked;

		source.ask({from: Math.round(state.from), to: Math.round(state.to), width: Math.min(4000, Math.round(wide())), tracks: visibleTracks()}, (given) => {
			if (!given)
				draw();
			else if (mine === asked) {
				answer = given;
				makeRoom();
				draw();
			}
		});
	}

	function show(from, to, untold) {
		state.note = untold ? state.note : "";
		const span = Math.min(Math.max(to - from, LEAST_NS), info.span);

		state.from = Math.min(Math.max(0, from), info.span - span);
		state.to = state.from + span;
		if (!untold)
			keep();
		draw();
		ask();
	}

	function zoomBy(factor, around) {
		show(around - (around - state.from) * factor, around + (state.to - around) * factor);
	}

	const pan = (part) => show(state.from + part * (state.to - state.from), state.to + part * (state.to - state.from));
	const middle = () => (state.from + state.to) / 2;

	function hitAt(event) {
		const box = canvas.getBoundingClientRect(), left = event.clientX - box.left, top = event.clientY - box.top;

		return top < AXIS ? undefined : hits.filter((hit) => left >= hit.left - 1 && left <= hit.right + 1 && top >= hit.top && top < hit.top + ROW)
			.sort((a, b) => Math.abs((a.left + a.right) / 2 - left) - Math.abs((b.left + b.right) / 2 - left))[0];
	}

	// The head of idle threads under the pointer.
	function foldAt(event) {
		const top = event.clientY - canvas.getBoundingClientRect().top;

		return top < AXIS ? undefined : rows.find((row) => row.fold && top + view.scrollTop >= row.top && top + view.scrollTop < row.top + row.height);
	}

	function toggle(group) {
		if (!open.delete(group))
			open.add(group);
		layOut();
		draw();
		ask();
	}

	const hideTip = () => { tip.hidden = true; };

	function showTip(event) {
		const hit = hitAt(event), fold = foldAt(event);

		canvas.style.cursor = fold ? "pointer" : "default";
		tip.hidden = !hit;
		if (hit) {
			tip.textContent = gputraceWords(hit).join("\n");
			tip.style.left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
			tip.style.top = Math.min(event.clientY + 16, window.innerHeight - tip.offsetHeight - 8) + "px";
		}
	}

	function pick(hit) {
		state.at = hit ? {track: hit.row.track, depth: hit.depth, time: hit.start} : null;
		state.follows = Boolean(hit);
		keep();
		draw();
	}

	// Measures between two positions of the pointer.
	function measure(one, other) {
		const left = canvas.getBoundingClientRect().left, [from, to] = [timeAt(one - left), timeAt(other - left)].sort((a, b) => a - b);

		state.measured = {from: Math.max(state.from, from), to: Math.min(state.to, to)};
		draw();
	}

	function goTo(hit) {
		const room = Math.max(hit.length * 20, (state.to - state.from) / 50, 1000), row = rows.find((one) => one.track === hit.track);

		state.at = {track: hit.track, depth: hit.depth, time: hit.start};
		state.follows = true;
		if (row)
			view.scrollTop = Math.max(0, row.top + hit.depth * ROW - view.clientHeight / 2);
		show(hit.start - room / 2, hit.start + room / 2);
	}

	function readAddress() {
		const given = new URLSearchParams(location.hash.slice(1)), number = (name, other) => given.has(name) ? Number(given.get(name)) : other;
		const at = (given.get("at") || "").split(".").map(Number), first = source.first(info);
		const from = number("from", first.from), to = number("to", first.to);

		state.find = search.value = given.get("find") || "";
		state.at = at.length === 3 && at.every(Number.isFinite) ? {track: at[0], depth: at[1], time: at[2]} : null;
		show(Number.isFinite(from) ? from : 0, Number.isFinite(to) && to > from ? to : info.span, true);
	}

	source.open((given) => {
		const first = !info.tracks.length, followed = state.from === 0 && state.to >= info.span;

		info = given;
		layOut();
		if (first)
			readAddress();
		else
			show(state.from, followed ? info.span : state.to, true);
	});
	gputraceListen({view, canvas, search, next, state, source, info: () => info, show, zoomBy, pan, middle, wide, timeAt, hitAt, foldAt, toggle, pick, measure, goTo, showTip, hideTip, keep, layOut, draw, ask, readAddress});
	return {
		// Shows the gap in that row, and leads to what ran or waited then.
		goToGap: (track, start, length) => {
			get("timeline").scrollIntoView();
			goTo({track, depth: 0, start, length});
		},
	};
}
