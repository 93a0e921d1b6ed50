// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Flame graphs of the data in the page: root above, a box as wide as its share.  The address holds the view after #, so
// that it can be shared: value=gpu, zoom=NODE, search=TEXT.
"use strict";

function gputraceFlames(data) {
	const ROW = 18; // pixels between rows
	const LEAST = 0.5; // pixels: a narrower box is not drawn
	const LABEL = 24; // pixels: a narrower box has no text
	const PARENT = 0, FRAME = 1, OWN = 2; // a node: its parent or -1, its frame, then its own part of each value
	const KINDS = ["process", "python", "note", "native", "call", "operation"];
	const HUES = {process: null, python: 28, note: null, native: 140, call: 205, operation: 352};

	const graph = document.getElementById("graph"), detail = document.getElementById("detail");
	const search = document.getElementById("search"), tabs = document.getElementById("values");
	const state = {value: data.values[0].id, zoom: -1, search: ""};
	let drawn = [], at = -1; // boxes by node; the box selected with the arrow keys

	// Children and, for a value, the totals of each node with all below it.  A parent precedes its children.
	const children = data.nodes.map(() => []), roots = [];
	data.nodes.forEach((node, i) => (node[PARENT] < 0 ? roots : children[node[PARENT]]).push(i));

	const sums = {};
	function totals(index) {
		if (!sums[index]) {
			const own = sums[index] = data.nodes.map((node) => node[OWN + index]);

			for (let i = own.length - 1; i >= 0; i--)
				if (data.nodes[i][PARENT] >= 0)
					own[data.nodes[i][PARENT]] += own[i];
		}
		return sums[index];
	}

	function text(frame) {
		const [, name, file, line] = data.frames[frame];

		return data.texts[name] + (file >= 0 ? " (" + data.texts[file].replace(/^.*\//, "") + (line ? ":" + line : "") + ")" : "");
	}

	// Drops prefixes that nearly all kernels of templates have, so that more names fit.
	function short(label) {
		return label.replace(/^void /, "").replace(/at::(native|cuda)::|\(anonymous namespace\)::/g, "");
	}

	function color(frame) {
		const [kind, name, file] = data.frames[frame], hue = HUES[KINDS[kind]];
		const from = data.texts[file >= 0 ? file : name];
		let hash = 0;

		if (hue === null)
			return "hsl(210 10% 82%)";
		for (let i = 0; i < from.length; i++)
			hash = (hash * 31 + from.charCodeAt(i)) >>> 0;
		return "hsl(" + (hue + hash % 28 - 14) + " 72% " + (68 + hash % 12) + "%)";
	}

	function amount(number, unit) {
		if (unit !== "ns")
			return number.toLocaleString("en") + " " + unit;
		if (number >= 1e9)
			return (number / 1e9).toFixed(2) + " s";
		if (number >= 1e6)
			return (number / 1e6).toFixed(2) + " ms";
		return (number / 1e3).toFixed(1) + " us";
	}

	function share(part, whole) {
		return whole ? (100 * part / whole).toFixed(1) + " %" : "-";
	}

	function valueIndex() {
		return Math.max(0, data.values.findIndex((value) => value.id === state.value));
	}

	function isFound(node) {
		const [, name, file] = data.frames[data.nodes[node][FRAME]], wanted = state.search.toLowerCase();

		return wanted !== "" && (data.texts[name].toLowerCase().includes(wanted) ||
			(file >= 0 && data.texts[file].toLowerCase().includes(wanted)));
	}

	// The sum of the boxes that are found, each counted once.
	function foundSum(sum) {
		let all = 0;
		const rest = roots.slice();

		while (rest.length) {
			const node = rest.pop();

			if (isFound(node))
				all += sum[node];
			else
				rest.push(...children[node]);
		}
		return all;
	}

	function addBox(node, x, width, depth, sum, whole, unit, above) {
		const box = document.createElement("div"), frame = data.nodes[node][FRAME], label = text(frame);
		const file = data.frames[frame][2] >= 0 ? "\n" + data.texts[data.frames[frame][2]] : "";

		box.className = "box" + (above ? " above" : "") + (isFound(node) ? " found" : "") + (width < LABEL ? " narrow" : "");
		box.style.left = x + "px";
		box.style.width = width + "px";
		box.style.top = depth * ROW + "px";
		box.style.background = color(frame);
		box.dataset.node = node;
		box.title = label + "\n" + amount(sum[node], unit) + ", " + share(sum[node], whole) + file;
		if (width >= LABEL)
			box.textContent = short(label);
		graph.appendChild(box);
		drawn.push({node, x, width, depth, box});
	}

	function draw() {
		const index = valueIndex(), unit = data.values[index].unit, sum = totals(index);
		const whole = roots.reduce((all, node) => all + sum[node], 0), wide = graph.clientWidth || 1200;
		const path = [], rest = [];
		let deepest = 0, found;

		graph.textContent = "";
		drawn = [];
		for (let node = state.zoom; node >= 0; node = data.nodes[node][PARENT])
			path.unshift(node);
		path.forEach((node, depth) => addBox(node, 0, wide, depth, sum, whole, unit, depth + 1 < path.length));
		const top = path.length ? path[path.length - 1] : -1, scale = wide / ((top < 0 ? whole : sum[top]) || 1);

		function put(nodes, x, depth) {
			nodes.filter((node) => sum[node] * scale >= LEAST).sort((a, b) => sum[b] - sum[a] || a - b).forEach((node) => {
				rest.push([node, x, depth]);
				x += sum[node] * scale;
			});
		}
		put(top < 0 ? roots : children[top], 0, path.length);
		while (rest.length) {
			const [node, x, depth] = rest.pop();

			addBox(node, x, sum[node] * scale, depth, sum, whole, unit, false);
			deepest = Math.max(deepest, depth);
			put(children[node], x, depth + 1);
		}
		graph.style.height = (Math.max(deepest, path.length) + 1) * ROW + "px";
		detail.textContent = data.values[index].name + ": " + amount(whole, unit);
		if (top >= 0)
			detail.textContent += "; below " + text(data.nodes[top][FRAME]) + ": " + amount(sum[top], unit) + ", " + share(sum[top], whole);
		if (data.left_out)
			detail.textContent += "; " + data.left_out.toLocaleString("en") + " boxes too small to be in the page are part of those above them";
		if (state.search) {
			found = foundSum(sum);
			detail.textContent += "; found: " + amount(found, unit) + ", " + share(found, whole);
		}
		mark();
		for (const button of tabs.children)
			button.setAttribute("aria-pressed", String(button.dataset.value === data.values[index].id));
	}

	function mark() {
		const here = drawn.find((one) => one.node === at);

		for (const one of drawn)
			one.box.classList.toggle("at", one === here);
		if (here)
			detail.textContent = here.box.title.replace(/\n/g, "   ");
	}

	// Moves to the next box in that direction; without a selection to the first box.
	function move(key) {
		const here = drawn.find((one) => one.node === at), end = (one) => one.x + one.width;
		const ways = {
			ArrowRight: (one) => one.depth === here.depth && one.x > here.x,
			ArrowLeft: (one) => one.depth === here.depth && one.x < here.x,
			ArrowDown: (one) => one.depth === here.depth + 1 && one.x >= here.x - 0.01 && end(one) <= end(here) + 0.01,
			ArrowUp: (one) => one.depth === here.depth - 1 && one.x <= here.x + 0.01 && end(one) >= end(here) - 0.01,
		};
		const found = here ? drawn.filter(ways[key]) : drawn.slice(0, 1);

		found.sort((a, b) => key === "ArrowLeft" ? b.x - a.x : a.x - b.x);
		if (found.length)
			at = found[0].node;
		mark();
	}

	function show(change) {
		const given = new URLSearchParams(location.hash.slice(1)); // also holds the timeline's view

		Object.assign(state, change);
		at = -1;
		given.set("value", state.value);
		state.zoom >= 0 ? given.set("zoom", state.zoom) : given.delete("zoom");
		state.search ? given.set("search", state.search) : given.delete("search");
		history.replaceState(null, "", "#" + given);
		draw();
	}

	function readAddress() {
		const given = new URLSearchParams(location.hash.slice(1)), zoom = Number(given.get("zoom") || NaN);

		state.value = given.get("value") || data.values[0].id;
		state.zoom = Number.isInteger(zoom) && zoom >= 0 && zoom < data.nodes.length ? zoom : -1;
		state.search = search.value = given.get("search") || "";
		draw();
	}

	data.values.forEach((value) => {
		const button = document.createElement("button");

		button.textContent = value.name;
		button.dataset.value = value.id;
		button.addEventListener("click", () => show({value: value.id}));
		tabs.appendChild(button);
	});
	graph.addEventListener("click", (event) => {
		if (event.target.dataset.node !== undefined)
			show({zoom: Number(event.target.dataset.node)});
	});
	document.getElementById("all").addEventListener("click", () => show({zoom: -1}));
	search.addEventListener("input", () => show({search: search.value}));
	graph.addEventListener("keydown", (event) => {
		if (event.key.startsWith("Arrow"))
			move(event.key);
		else if (event.key === "Enter" && at >= 0)
			show({zoom: at});
		else
			return;
		event.preventDefault();
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "Escape" && !event.target.id.startsWith("tl-") && !document.querySelector("dialog[open]"))
			show({zoom: -1, search: search.value = ""});
	});
	window.addEventListener("resize", draw);
	window.addEventListener("hashchange", readAddress);
	readAddress();
}
