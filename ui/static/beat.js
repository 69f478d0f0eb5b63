// A clock in a worker: browsers throttle the timers of hidden tabs, but not those of workers.
"use strict";

let ticking;
onmessage = ({ data: pause }) => {
  clearInterval(ticking);
  if (pause) ticking = setInterval(() => postMessage("tick"), pause);
};
