// Words in which two texts differ, drawn with what is added and removed marked.
"use strict";

(() => {
  const { element } = window.askback;

  // A word or a punctuation mark, and the white space behind it.
  const words = (text) => [...text.matchAll(/([\p{L}\p{N}_]+(?:['’-][\p{L}\p{N}_]+)*|\S)(\s*)/gu)].map(([, word, space]) => ({ word, space }));

  // [kind, text] in order: "same", "removed" (in `before` alone), "added" (in `after` alone).
  function difference(before, after) {
    const [a, b] = [words(before.trim()), words(after.trim())];
    const length = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i -= 1) {
      for (let j = b.length - 1; j >= 0; j -= 1) {
        length[i][j] = a[i].word === b[j].word ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
      }
    }
    const pieces = [];
    const put = (kind, { word, space }) => {
      if (pieces.at(-1)?.[0] === kind) pieces.at(-1)[1] += word + space;
      else pieces.push([kind, word + space]);
    };
    let [i, j] = [0, 0];
    while (i < a.length || j < b.length) {
      if (i < a.length && j < b.length && a[i].word === b[j].word) { put("same", b[j]); i += 1; j += 1; }
      else if (i < a.length && (j >= b.length || length[i + 1][j] >= length[i][j + 1])) { put("removed", a[i]); i += 1; }
      else { put("added", b[j]); j += 1; }
    }
    return pieces;
  }

  const MARKS = { added: "ins", removed: "del" };

  function drawDifference(place, before, after) {
    const pieces = difference(before, after);
    const changed = pieces.some(([kind]) => kind !== "same");
    place.dataset.language ??= place.lang;
    place.lang = changed ? place.dataset.language : document.documentElement.lang;
    place.replaceChildren(...(changed ? pieces.flatMap(([kind, text]) => drawPiece(kind, text, place.dataset[kind])) : [place.dataset.unchanged]));
  }

  // What is marked is also said in a word.
  function drawPiece(kind, text, said) {
    if (kind === "same") return [text];
    const piece = element(MARKS[kind], {}, hidden(`${said} `), text.trimEnd());
    return [piece, text.slice(text.trimEnd().length) || (kind === "removed" ? " " : "")];
  }

  function hidden(text) {
    return element("span", { class: "ab-hidden", lang: document.documentElement.lang }, text);
  }

  window.askback.drawDifference = drawDifference;
})();
