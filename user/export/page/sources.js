// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Where the timeline's data comes from: the page itself, or a gputrace that answers (view).
"use strict";

// Levels of detail in the page itself: each is narrower and finer than the one before.
function gputraceLevels(data) {
	const last = data.levels[data.levels.length - 1];

	return {
		open: (reply) => reply(data.info),
		ask: (wanted, reply) => reply(data.levels.filter((level) => level.from <= wanted.from && level.to >= wanted.to).pop()),
		first: () => data.levels.length > 1 ? {from: last.from, to: last.to} : {from: 0, to: data.info.span},
		find: (text, after, reply) => {
			let best = null;

			for (const [track, depth, boxes] of last.rows)
				for (let i = 0; i < boxes.length; i += 6) {
					const [name, where] = last.labels[boxes[i + 2]], start = last.from + boxes[i];

					if ((after === null || start > after) && (!best || start < best.start) && (name + "\n" + where).toLowerCase().includes(text.toLowerCase()))
						best = {track, depth, start, length: boxes[i + 1]};
				}
			reply(best);
		},
		stack: (id, reply) => {
			const [own, ...frames] = last.stacks[id] || [-1];

			reply({own: own === undefined ? -1 : own, frames: frames.map((frame) => last.frames[frame])});
		},
		linked: (number, gpu, reply) => {
			const kinds = new Map(data.info.tracks.map(([track, , , , kind]) => [track, kind]));
			let first = null;

			for (const [track, depth, boxes] of last.rows)
				for (let i = 0; i < boxes.length; i += 6)
					if (boxes[i + 5] === number && boxes[i + 3] === 1 && kinds.get(track) !== GPUTRACE_MEMORY && gputraceIsOnGpu(kinds.get(track)) === (gpu === 1) &&
						(!first || last.from + boxes[i] < first.start))
						first = {track, depth, start: last.from + boxes[i], length: boxes[i + 1], name: last.labels[boxes[i + 2]][0], where: last.labels[boxes[i + 2]][1]};
			reply(first);
		},
		said: (info, state, level) => {
			if (data.levels.length === 1)
				return "";
			return level && level.least ? "; slices shorter than " + gputraceTime(level.least) + " are put together here; each by itself is in the page from " +
				gputraceTime(last.from) + " to " + gputraceTime(last.to) : "; each slice by itself";
		},
	};
}

// A gputrace that answers (view): sends it one question at a time; the latest one goes next.
function gputraceLive(status, answer) {
	const get = (what, given) => fetch(what + "?" + new URLSearchParams(given)).then((response) => {
		if (!response.ok)
			throw new Error(response.status);
		return response.json();
	});
	const ended = "gputrace does not answer any more: it has ended, or could not read the log";
	let busy = false, waiting = null, isGone = false, drawGone = () => {}, replyTracks = () => {};
	const gone = () => {
		isGone = true;
		status.textContent = ended + ".";
		drawGone();
	};

	function askNext() {
		if (busy || !waiting)
			return;
		const [wanted, reply] = waiting;

		busy = true;
		waiting = null;
		drawGone = () => reply();
		get("slices", wanted).then(reply, gone).then(() => {
			busy = false;
			askNext();
		});
	}

	function askForSums() {
		get("sums", {}).then((given) => {
			if (!given.ready)
				return setTimeout(askForSums, 500);
			return get("tracks", {}).then((tracks) => { // now with the gaps of GPUs
				status.textContent = "";
				replyTracks(tracks);
				gputraceFlames(given.profile);
				answer(given.answer);
			});
		}).catch(gone);
	}

	return {
		open: (reply) => {
			replyTracks = reply;
			const poll = () => get("tracks", {}).then((given) => {
				reply(given);
				status.textContent = given.done ? "the sums are being made ..." : "the log is being read ...";
				given.done ? askForSums() : setTimeout(poll, 300);
			}).catch(gone);

			poll();
		},
		ask: (wanted, reply) => {
			waiting = [wanted, reply];
			askNext();
		},
		first: (info) => ({from: 0, to: info.span}),
		stack: (id, reply) => get("stack", {id}).then(reply, gone),
		linked: (number, gpu, reply) => get("linked", {number, gpu}).then(reply, gone),
		find: (text, after, reply) => get("find", after === null ? {text} : {text, after: Math.max(0, Math.floor(after))}).then(reply, gone),
		said: (info, state, reply) => isGone ? ": " + ended : (info.done ? "" : "; read so far: " + gputraceTime(info.read) +
			(info.places ? ", after that estimates from " + info.places + " places, " + (100 * info.sampled).toFixed(1) + " % of the log" : "")) + (reply && reply.left_out ? "; not all rows fit" : ""),
	};
}

(function () {
	const find = (id) => document.getElementById(id), data = find("timeline-data"), live = find("live");
	let timeline = null;
	const answer = (given) => {
		gputraceVerdict(given.verdict, (...gap) => timeline.goToGap(...gap));
		gputraceTables(given.tables);
	};

	if (data) {
		timeline = gputraceTimeline(gputraceLevels(JSON.parse(data.textContent)));
		gputraceFlames(JSON.parse(find("data").textContent));
		answer(JSON.parse(find("answer").textContent));
	} else if (live) {
		timeline = gputraceTimeline(gputraceLive(live, answer));
	}
})();
