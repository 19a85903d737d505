// Keys of one letter, and what a screen reader is told. Letters can be switched off: speech input types them by accident.
import { useEffect, useRef } from "preact/hooks";

const NAME = "letters";
let isOn = true;
try {
  isOn = window.localStorage.getItem(NAME) !== "off";
} catch {
  // a browser that keeps nothing
}

window.addEventListener("storage", (event) => { // switched in another page
  if (event.key === NAME) isOn = event.newValue !== "off";
});

export const lettersAreOn = () => isOn;

/** Switches keys of one letter on or off, for all pages. */
export function switchLetters(on) {
  isOn = on;
  try {
    window.localStorage.setItem(NAME, on ? "on" : "off");
  } catch {
    // a browser that keeps nothing
  }
}

const isTyping = (event) => /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);

/** Calls a function with keys that are pressed outside of fields; with those of one letter only while they are on. */
export function useKeys(pressed) {
  const latest = useRef(pressed);
  latest.current = pressed;
  useEffect(() => {
    const heard = (event) => {
      if (isTyping(event) && event.key === "Escape") event.target.blur();
      if (isTyping(event) || event.metaKey || event.ctrlKey || event.altKey || (event.key.length === 1 && !isOn)) return;
      latest.current(event);
    };
    window.addEventListener("keydown", heard);
    return () => window.removeEventListener("keydown", heard);
  }, []);
}

const PAUSE = 500; // milliseconds: of changes that follow each other, only the last one is said
let waiting = 0;

/** Tells a screen reader what has come or changed, when it has no focus. */
export function say(text) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const voice = document.getElementById("voice");
    if (voice) voice.textContent = text;
  }, PAUSE);
}

/** Says a text when it is another one; "" says nothing. */
export function useSaid(text) {
  useEffect(() => {
    if (text) say(text);
  }, [text]);
}
