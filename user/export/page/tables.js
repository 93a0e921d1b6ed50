// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The verdict, and the tables of the report: sorted by a click on a column's title, filtered, and with the source of a
// line, with the costs of each line around it.
"use strict";

// lines: ["text"], or ["text", row, start, length] of a loss with a gap.
function gputraceVerdict(lines, goToGap) {
	const place = document.getElementById("verdict");

	place.textContent = "";
	lines.forEach(([text, row, start, length], i) => {
		const line = gputraceElement("div", {className: i ? /^ /.test(text) ? "soft try" : "" : "first"}, text.trim());

		if (row !== undefined)
			line.append(" ", gputraceElement("button", {className: "jump", onclick: () => goToGap(row, start, length), title: "shows it in the timeline, with what ran or waited then"},
				"largest gap: " + gputraceTime(length)));
		place.append(line);
	});
}

// A number of a cell for sorting; null: there is none.
function gputraceNumber(cell) {
	const number = Array.isArray(cell) ? cell[1] : parseFloat(cell.replace(/,/g, ""));

	return typeof number === "number" && !Number.isNaN(number) ? number : null;
}

const gputraceCellText = (cell) => Array.isArray(cell) ? cell[0] : cell;

// The functions of the table of source lines, by file and line: {title, rows}.
function gputraceSources(tables, files) {
	const table = tables.find((one) => one.id === "source_lines"), functions = new Map();

	if (!table)
		return () => undefined;
	const at = (title) => table.columns.findIndex(([name]) => name === title);
	const [line, name, source] = ["line", "function", "source"].map(at);

	for (const row of table.rows) {
		const file = (row[row.length - 1].at || [-1])[0], key = file + "\n" + gputraceCellText(row[name]);
		const known = functions.get(key) || {title: gputraceCellText(row[name]), file, rows: []};

		functions.set(key, known);
		known.rows.push(row);
	}
	const found = new Map();

	for (const one of functions.values())
		for (const row of one.rows)
			found.set(one.file + ":" + gputraceCellText(row[line]), one);
	return ([file, number]) => {
		const one = found.get(file + ":" + number);

		return one && (() => gputraceShowSource({...one, file: files[file], number, line, source, columns: table.columns, name}));
	};
}

function gputraceShowSource({title, file, number, line, source, columns, name, rows}) {
	const shown = columns.map((column, i) => i).filter((i) => i !== name && (i === line || i === source || rows.some((row) => gputraceNumber(row[i]) > 0)));
	const dialog = document.getElementById("source"), sorted = rows.slice().sort((a, b) => gputraceNumber(a[line]) - gputraceNumber(b[line]));
	const cell = (row, i) => gputraceElement("td", {className: i === source ? "code" : columns[i][1] ? "number" : ""}, gputraceCellText(row[i]));
	const head = gputraceElement("tr", {}, ...shown.map((i) => gputraceElement("th", {className: columns[i][1] ? "number" : ""}, columns[i][0])));
	const body = sorted.map((row) => gputraceElement("tr", {className: gputraceCellText(row[line]) === String(number) ? "here" : ""}, ...shown.map((i) => cell(row, i))));

	dialog.textContent = "";
	dialog.append(gputraceElement("button", {className: "close", onclick: () => dialog.close(), "aria-label": "close"}, "\u00d7"),
		gputraceElement("h2", {}, title), gputraceElement("div", {className: "soft wrap"}, file + ": its lines that cost something; of a line with what it calls"),
		gputraceElement("div", {className: "scroll"}, gputraceElement("table", {}, gputraceElement("thead", {}, head), gputraceElement("tbody", {}, ...body))));
	dialog.showModal();
}

// What is below a row: who called the line, the evidence, what to try.
function gputraceBeside(beside) {
	return [["called_from", "\u2190 "], ["seen", ""], ["try", "Try: "]].filter(([key]) => beside[key])
		.map(([key, before]) => gputraceElement("div", {className: "beside"}, before + beside[key]));
}

function gputraceTable(table, sourceOf) {
	const FIRST_ROWS = 10;
	const state = {by: -1, up: false, whole: false, filter: ""};
	const body = gputraceElement("tbody"), more = gputraceElement("button", {className: "more"});
	const filled = table.columns.map((column, i) => i).filter((i) => !table.rows.length || table.rows.some((row) => gputraceCellText(row[i]) !== ""));
	const place = table.columns.findIndex(([title]) => /^(line|where|mostly .*)$/.test(title));
	const called = place < 0 ? Math.max(0, table.columns.findIndex(([, number]) => !number)) : place; // who called it is below that cell
	const lowered = table.rows.map((row) => row.map((cell) => typeof cell === "string" ? cell : JSON.stringify(cell)).join("\n").toLowerCase());
	let made = null; // rows, once drawn

	// The row, and one below it for what is said beside it.
	function makeRow(row) {
		const beside = row[row.length - 1], open = beside.at && sourceOf(beside.at), more = gputraceBeside(beside);
		const line = open ? table.columns.findIndex(([, number], i) => !number && gputraceCellText(row[i]).includes(":" + beside.at[1])) : -1;
		const cells = filled.map((i) => {
			const number = table.columns[i][1], text = gputraceCellText(row[i]), whole = Array.isArray(row[i]) && typeof row[i][1] === "string" ? row[i][1] : "";
			const content = i === line ? gputraceElement("button", {className: "line", onclick: open, title: "its source, with costs"}, text) : text;

			return gputraceElement("td", {className: number ? "number" : "name", title: whole}, content, i === called && beside.called_from ? more.shift() : null);
		});

		return [gputraceElement("tr", {}, ...cells), ...(more.length ? [gputraceElement("tr", {className: "below"}, gputraceElement("td", {colSpan: cells.length}, ...more))] : [])];
	}

	function order(a, b) {
		const [left, right] = [table.rows[a][state.by], table.rows[b][state.by]];

		if (!table.columns[state.by][1])
			return gputraceCellText(left).localeCompare(gputraceCellText(right), "en", {numeric: true}) * (state.up ? 1 : -1);
		const [one, other] = [gputraceNumber(left), gputraceNumber(right)];

		if (one === null || other === null)
			return (one === null) - (other === null); // what is not known comes last
		return (one - other) * (state.up ? 1 : -1);
	}

	function draw() {
		const numbers = table.rows.map((row, i) => i).filter((i) => lowered[i].includes(state.filter));

		made = made || table.rows.map(makeRow);
		if (state.by >= 0)
			numbers.sort(order);
		const shown = state.whole || state.filter ? numbers : numbers.slice(0, FIRST_ROWS);

		body.replaceChildren(...shown.flatMap((i) => made[i]));
		more.hidden = shown.length === numbers.length;
		more.textContent = (numbers.length - shown.length).toLocaleString("en") + " more";
		return numbers.length > 0;
	}

	const titles = table.columns.map(([title, number], i) => gputraceElement("th", {className: number ? "number" : "name", scope: "col"}, gputraceElement("button", {
		onclick: () => {
			state.up = state.by === i ? !state.up : !number;
			state.by = i;
			titles.forEach((one, at) => at === i ? one.setAttribute("aria-sort", state.up ? "ascending" : "descending") : one.removeAttribute("aria-sort"));
			draw();
		}}, title || "\u00a0")));

	more.addEventListener("click", () => {
		state.whole = true;
		draw();
	});
	const section = gputraceElement("section", {id: "table-" + table.id, className: "table"}, gputraceElement("h3", {}, table.title, " ",
		table.about ? gputraceElement("span", {className: "soft"}, table.about) : null));

	if (table.columns.length && table.rows.length)
		section.append(gputraceElement("div", {className: "scroll"}, gputraceElement("table", {}, gputraceElement("thead", {}, gputraceElement("tr", {}, ...filled.map((i) => titles[i]))), body)), more);
	section.append(...table.notes.map((note) => gputraceElement("div", {className: "note"}, note)));
	draw();
	return {section, filter: (text) => {
		state.filter = text.toLowerCase();
		section.hidden = !draw() && state.filter !== "";
	}};
}

function gputraceTables({why, report, sources, files}) {
	const sourceOf = gputraceSources(sources, files), search = document.getElementById("filter");
	const put = (id, tables) => {
		const made = tables.filter((table) => table.rows.length || table.notes.length).map((table) => gputraceTable(table, sourceOf));

		document.getElementById(id).replaceChildren(...made.map((one) => one.section));
		return made;
	};
	const both = new Set(report.map(({id}) => id)); // said once
	const all = [...put("why", why.filter(({id}) => !both.has(id))), ...put("report", report)];

	search.addEventListener("input", () => all.forEach((table) => table.filter(search.value)));
}
