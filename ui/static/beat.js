// A clock beside the page: browsers slow down the timers of a tab that is out of sight, but not a worker's.
"use strict";

let ticking;
onmessage = ({ data: pause }) => {
  clearInterval(ticking);
  if (pause) ticking = setInterval(() => postMessage("tick"), pause);
};
