// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Rows of the timeline: which there are, in which order, what they and their colors are called.
"use strict";

// Kinds of rows: enum timeline_track_kind, and those that only a page has.
const GPUTRACE_STREAM = 6, GPUTRACE_WAITS = 7, GPUTRACE_CUPTI = 8, GPUTRACE_OFF_CPU = 9, GPUTRACE_SAMPLES = 10, GPUTRACE_MEMORY = 100, GPUTRACE_GAPS = 101;

const GPUTRACE_IDLE_PROCESSES = "\0"; // no name of a group

// Kinds of rows of a GPU: its streams, and waits for them.  Their names come from a target.
const gputraceIsOnGpu = (kind) => kind === GPUTRACE_STREAM || kind === GPUTRACE_WAITS;

// By enum timeline_category: name, hue, and saturation if it is not 70.
const GPUTRACE_CATEGORIES = [["CUDA call", 205], ["driver call", 195], ["kernel", 352], ["copy", 145], ["fill", 165], ["wait for the GPU", 52],
	["Python function", 28], ["module of PyTorch", 10], ["garbage collection", 80], ["import", 95], ["range", 285], ["mark", 285], ["op", 250],
	["named by the program", 275], ["memory", 225, 30], ["step", 315], ["JIT compiler", 120], ["CUPTI", 0, 15],
	["wait off the CPU", 65], ["CPU sample", 24]];
GPUTRACE_CATEGORIES[99] = ["clock, power, temperature", 175, 35]; // only in this timeline

// From category 100 on: what gaps of GPUs are charged to (enum cause_color): name, hue, saturation.
const GPUTRACE_GAP_CATEGORY = 100;
const GPUTRACE_CAUSES = [["code that ran", 20, 85], ["waits of threads", 55, 75], ["data loading", 100, 50], ["no CPU", 0, 75], ["no requests", 205, 25],
	["waits for the GPU", 40, 45], ["small kernels", 325, 55], ["memory and other calls", 180, 45], ["imports, garbage, compiling", 265, 50], ["copies", 150, 60],
	["other ranks, processes", 230, 60], ["not known", 0, 0], ["GPU side, under 5 us", 210, 10]];

function gputraceCategory(category) {
	const [name, hue, saturation] = (category >= GPUTRACE_GAP_CATEGORY ? GPUTRACE_CAUSES[category - GPUTRACE_GAP_CATEGORY] :
		GPUTRACE_CATEGORIES[category]) || ["?", 0, 0];

	return {name, hue, saturation: saturation === undefined ? 70 : saturation, isGap: category >= GPUTRACE_GAP_CATEGORY};
}

// Each name has a shade of its category's color; lines of gaps differ less, as their color is their cause.
function gputraceFill([name, where, category], merged) {
	const {hue, saturation, isGap} = gputraceCategory(category), text = isGap ? where : name;
	let hash = 0;

	for (let i = 0; i < text.length; i++)
		hash = (hash * 31 + text.charCodeAt(i)) >>> 0;
	return "hsl(" + (hue + (isGap ? hash % 9 - 4 : hash % 24 - 12)) + " " + (merged ? saturation / 2 : saturation) + "% " + (70 + hash % 10) + "%)";
}

// Swatches of the categories that were drawn.
function gputraceLegend(place, categories) {
	const known = [...categories].sort((a, b) => a - b), gaps = known.filter((one) => one >= GPUTRACE_GAP_CATEGORY);
	const swatch = (category) => {
		const {name, hue, saturation} = gputraceCategory(category), box = gputraceElement("i");

		box.style.background = "hsl(" + hue + " " + saturation + "% 74%)";
		return gputraceElement("span", {className: "swatch"}, box, name);
	};

	const line = (title, categories) => gputraceElement("div", {className: "swatches"}, gputraceElement("span", {className: "soft"}, title), ...categories.map(swatch));

	place.textContent = "";
	if (gaps.length)
		place.append(line("The GPU idle, by cause:", gaps));
	place.append(line("Slices:", known.filter((one) => one < GPUTRACE_GAP_CATEGORY)));
}

// "thread 4711 (python3)" and "thread 4711 waits" by the thread's name
function gputraceRowName(label, thread) {
	const parts = /^thread (\d+)(.*)$/.exec(label);

	if (!thread || !parts)
		return label;
	return thread + " " + parts[1] + (parts[2] === " (" + thread + ")" ? "" : parts[2]);
}

// Threads that launch come first, then by name; a thread without calls that hardly ran is idle.
function gputraceThreads(tracks, span) {
	const threads = new Map();

	for (const track of tracks) {
		const [, , , , kind, owner, busy, name] = track;
		const thread = threads.get(owner) || {name: name || "", tracks: [], calls: false, busy: 0};

		threads.set(owner, thread);
		thread.tracks.push(track);
		thread.calls = thread.calls || kind < GPUTRACE_STREAM;
		thread.busy += kind === GPUTRACE_OFF_CPU ? 0 : busy || 0;
	}
	const all = [...threads.values()];

	for (const thread of all)
		thread.isIdle = !thread.calls && thread.busy < span / 100;
	return all.sort((a, b) => b.calls - a.calls || a.name.localeCompare(b.name, "en", {numeric: true}));
}

// {rows, total}: rows {track, label, short, kind, group, top, height}, heads of groups, and heads of idle threads, which are
// folded unless `open` has them.  short: the name of a row below others of its thread, "".
function gputraceRows(info, heightOf, open, sizes) {
	const groups = [], rows = [];
	let top = sizes.axis;
	const put = (row, height) => {
		rows.push({...row, top, height});
		top += height;
	};
	let before = null; // the row before
	const putTrack = ([track, label, group, depth, kind, owner, , thread]) => {
		const name = gputraceRowName(label, thread), own = gputraceRowName((/^thread \d+/.exec(label) || [""])[0], thread);
		const short = own && before && before.owner === owner && before.group === group ? name.slice(own.length).trim() : "";

		before = {track, label: name, short, kind, group, owner};
		put(before, heightOf(track, depth));
	};

	for (const track of info.tracks) {
		const last = groups[groups.length - 1];

		if (last && last[0][2] === track[2])
			last.push(track);
		else
			groups.push([track]);
	}
	const fold = (name, count, what) => (open.has(name) ? "\u25be " : "\u25b8 ") + count + " idle " + what + (count > 1 ? what.endsWith("s") ? "es" : "s" : "");
	const idleProcesses = [];

	for (const tracks of groups) {
		const group = tracks[0][2], isProcess = tracks.every(([, , , , kind, owner]) => owner !== undefined && kind <= GPUTRACE_SAMPLES && kind !== GPUTRACE_CUPTI && !gputraceIsOnGpu(kind));
		const threads = isProcess ? gputraceThreads(tracks, info.span) : [{tracks, isIdle: false}];
		const idle = threads.filter((thread) => thread.isIdle);

		if (idle.length === threads.length) {
			idleProcesses.push([group, tracks]);
			continue;
		}
		put({head: group}, sizes.head);
		threads.filter((thread) => !thread.isIdle).forEach((thread) => thread.tracks.forEach(putTrack));
		if (idle.length)
			put({fold: group, label: fold(group, idle.length, "thread")}, sizes.head);
		if (open.has(group))
			idle.forEach((thread) => thread.tracks.forEach(putTrack));
	}
	if (idleProcesses.length)
		put({fold: GPUTRACE_IDLE_PROCESSES, head: fold(GPUTRACE_IDLE_PROCESSES, idleProcesses.length, "process")}, sizes.head);
	for (const [group, tracks] of open.has(GPUTRACE_IDLE_PROCESSES) ? idleProcesses : []) {
		put({head: group}, sizes.head);
		tracks.forEach(putTrack);
	}
	return {rows, total: top};
}
