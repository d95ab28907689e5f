// Tables that sort, search and page, by DataTables: what a cell shows is always text or an element of ours.
"use strict";
hone.table = (columns, rows, { order = [], label = "", size = 50, searching = true } = {}) => {
  const { h } = hone;
  const DataTable = itables.default;
  const element = h("table", { class: "data", "aria-label": label });
  const box = h("div", { class: "table-box" }, element);
  DataTable.ext.errMode = "throw";
  const made = new DataTable(element, {
    data: rows,
    columns: columns.map((column) => ({
      title: "",
      className: column.number ? "number" : "",
      type: column.number ? "num" : "string",
      orderSequence: column.number ? ["desc", "asc"] : ["asc", "desc"],
      data: (row, type) => {
        const value = column.value(row);
        // 2 comes before 10 in names, too.
        if (type === "sort" && !column.number) return String(value ?? "").replace(/\d+/g, (digits) => digits.padStart(8, "0"));
        if (type !== "display") return column.number ? (hone.isNumber(value) ? value : -Infinity) : String(value ?? "");
        return null;
      },
      render: { _: (value) => value, display: () => "" },
      createdCell: (cell, _, row) => {
        const shown = column.show ? column.show(row) : String(column.value(row) ?? "");
        cell.replaceChildren(...[shown].flat().filter((item) => item !== null && item !== undefined));
      },
    })),
    order,
    deferRender: true,
    autoWidth: false,
    pageLength: size,
    searching,
    paging: rows.length > size,
    info: rows.length > size,
    lengthChange: false,
    layout: { topStart: null, topEnd: searching && rows.length > 8 ? "search" : null, bottomStart: rows.length > size ? "info" : null, bottomEnd: rows.length > size ? "paging" : null },
    language: { search: "Search", emptyTable: "No rows.", zeroRecords: "No row fits.", info: "_START_ to _END_ of _TOTAL_",
      infoEmpty: "", infoFiltered: "(of _MAX_)" },
  });
  // Headings as text, so that no name of a column is markup.
  columns.forEach((column, index) => {
    const head = made.column(index).header();
    const place = head.querySelector(".dt-column-title") || head;
    place.textContent = column.title;
    if (column.meaning) head.title = column.meaning;
  });
  return box;
};

// Rows of a CSV table as objects.
hone.objects = (table) => table.rows.map((row) => Object.fromEntries(table.columns.map((column, at) => [column.name, row[at]])));

// A CSV table with links to the answers that its rows are about.
hone.csvTable = (table, { whole = false } = {}) => {
  const { h } = hone;
  const columns = table.columns.map((column, at) => ({ ...column, at })).filter((column) => whole || column.shown);
  const rows = table.rows.map((cells, at) => ({ cells, link: table.links[at] || null }));
  const text = (column, value) => (column.kind === "number" ? hone.number(value, 4) : column.name === "solution" ? String(value).slice(0, 12) : String(value ?? ""));
  const made = columns.map((column, place) => ({
    title: hone.words(column.heading), meaning: column.meaning, number: column.kind === "number", value: (row) => row.cells[column.at],
    show: (row) => { const shown = text(column, row.cells[column.at]); const cell = column.kind === "number" ? shown : hone.soft(shown);
      return row.link && place === 0 ? h("a", { href: hone.address("answer", { id: row.link }) }, shown ? cell : "answer") : cell; },
  }));
  return hone.table(made, rows, { label: table.title });
};
