"""The plugin by which opencode, which has no hooks in its settings, calls us as other clients do.

opencode keeps all sessions in one database: the plugin names that, and the session in it.
"""

import json
from typing import Final

PLUGIN_MARK: Final = "// slicebase:"
_PLUGIN: Final = """\
%(mark)s `tt hook install opencode` writes this file, and `tt hook uninstall opencode` removes it with any change.
import { spawn } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const COMMANDS = %(commands)s
const LIMIT = %(limit)d // milliseconds
const DATA = process.env.XDG_DATA_HOME || join(homedir(), ".local", "share")
const transcript_path = join(DATA, "opencode", "opencode.db")

// Runs the command of an event, and returns the text that it adds to the context. Nothing here stops opencode.
const run = (event, given, cwd) =>
  new Promise((resolve) => {
    const output = []
    const child = spawn(COMMANDS[event], { cwd, shell: true, stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => child.kill(), LIMIT)
    child.on("error", () => resolve(undefined))
    child.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(Buffer.concat(output).toString()).hookSpecificOutput.additionalContext)
      } catch {
        resolve(undefined)
      }
    })
    child.stdout.on("data", (data) => output.push(data))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(given))
  })

export const Slicebase = async ({ client, directory }) => {
  const known = new Set()
  const pending = new Set()

  const call = async (event, id, more) => {
    try {
      const info = (await client.session.get({ path: { id } })).data
      if (!info || info.parentID) return undefined // the session of a subagent
      return await run(event, { session_id: id, transcript_path, cwd: directory, ...more }, directory)
    } catch {
      return undefined
    }
  }

  const source = async (id) => {
    const messages = (await client.session.messages({ path: { id }, query: { limit: 2 } }).catch(() => ({}))).data
    return messages?.length > 1 ? "resume" : "startup"
  }

  return {
    "chat.message": async ({ sessionID }, { message, parts }) => {
      const written = parts.filter((part) => part.type === "text" && !part.synthetic)
      const prompt = written.map((part) => part.text).join("\\n")
      const texts = []
      if (!known.has(sessionID)) texts.push(await call("SessionStart", sessionID, { source: await source(sessionID) }))
      known.add(sessionID)
      texts.push(await call("UserPromptSubmit", sessionID, { prompt }))
      for (const text of texts.filter(Boolean)) {
        const id = `${parts.at(-1)?.id ?? "prt_"}slicebase` // parts are in the order of their ids
        parts.push({ id, sessionID, messageID: message.id, type: "text", text, synthetic: true })
      }
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      await call("PreCompact", sessionID)
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const work = call("SessionEnd", event.properties.sessionID).finally(() => pending.delete(work))
      pending.add(work)
    },
    dispose: async () => {
      await Promise.all(pending)
    },
  }
}
"""


def plugin_text(commands: dict[str, str], limit: int) -> str:
    """Returns the plugin, which runs these commands by event, each for at most `limit` milliseconds."""
    return _PLUGIN % {"mark": PLUGIN_MARK, "commands": json.dumps(commands, indent=2), "limit": limit}
