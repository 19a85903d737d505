// The views: which addresses each of them has. The first that matches is shown.
import { ContextView } from "slicebase/views/context.js";
import { FileView } from "slicebase/views/file.js";
import { Home } from "slicebase/views/home.js";
import { Library } from "slicebase/views/library.js";
import { Proof } from "slicebase/views/proof.js";
import { Run } from "slicebase/views/run.js";
import { Runs } from "slicebase/views/runs.js";
import { Session, SESSION_KEYS } from "slicebase/views/session.js";
import { Sessions } from "slicebase/views/sessions.js";
import { Snapshot } from "slicebase/views/snapshot.js";
import { Why } from "slicebase/views/why.js";

const is = (...names) => (route) => names.length === route.parts.length && names.every((name, at) => name === "*" || name === route.parts[at]);
const second = (route) => route.parts[1];

/** Each view: `match`, `section` in the navigation, `title`, `view`, its `key` (another one begins anew), its `keys`. */
export const VIEWS = [
  { match: is(), section: "Home", title: () => "Home", view: Home, keys: [] },
  { match: is("sessions"), section: "Sessions", title: () => "Sessions", view: Sessions, keys: [] },
  { match: is("session", "*"), section: "Sessions", title: second, view: Session, key: second, keys: SESSION_KEYS },
  { match: is("turn", "*"), section: "Sessions", title: second, view: Session, key: () => "turn", keys: SESSION_KEYS },
  { match: is("context"), section: "Context", title: () => "Context", view: ContextView, keys: [] },
  { match: is("context", "*"), section: "Context", title: second, view: ContextView, keys: [] },
  { match: is("runs"), section: "Runs", title: () => "Runs", view: Runs, keys: [] },
  { match: is("run", "*"), section: "Runs", title: second, view: Run, key: second, keys: [] },
  { match: is("snapshot", "*"), section: "Runs", title: second, view: Snapshot, key: second, keys: [] },
  { match: is("library"), section: "Library", title: () => "Library", view: Library, keys: [] },
  { match: is("file", "*"), section: "Library", title: second, view: FileView, key: second, keys: [] },
  { match: is("proof"), section: "Proof", title: () => "Proof", view: Proof, keys: [] },
  { match: is("proof", "why"), section: "Proof", title: () => "Why", view: Why, keys: [] },
];
