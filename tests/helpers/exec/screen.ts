import type { ExecRequest, RunningExec } from '../../../agent/ports/boxes/runtime.ts'
import { type OciLab, untilTrue } from '../boxes/oci-lab.ts'

/** A person's terminal. */
export interface Screen {
  running: RunningExec
  /** Returns everything shown so far. */
  text(): string
  /** Resolves once the shown text matches. Throws after 20 s. */
  until(pattern: RegExp): Promise<void>
  type(text: string): void
  kill(): Promise<void>
  /** Settles with the command's exit once all output is shown. */
  ended: RunningExec['exited']
}

/** Starts a command in the box on a terminal of 77 by 33. A string runs in the box's shell. */
export async function openScreen(
  lab: OciLab,
  boxId: string,
  command: string | readonly string[],
  changes: Partial<ExecRequest> = {},
): Promise<Screen> {
  const running = await lab.runtime.exec(boxId, {
    command: typeof command === 'string' ? ['/bin/sh', '-c', command] : command,
    cwd: '/',
    environment: {},
    user: null,
    terminal: { cols: 77, rows: 33 },
    ...changes,
  })
  let shown = ''
  const readAll = async (): Promise<void> => {
    for await (const chunk of running.stdout as AsyncIterable<Buffer>) shown += chunk.toString()
  }
  let whole: Promise<void> | null = null
  const read = (): Promise<void> => {
    whole ??= readAll()
    return whole
  }
  return {
    running,
    text: () => shown,
    type: (typed) => void running.stdin.write(typed),
    until: async (pattern) => {
      void read().catch(() => undefined)
      await untilTrue(() => pattern.test(shown)).catch((error: unknown) => {
        throw new Error(`shown was ${JSON.stringify(shown.slice(-500))}`, { cause: error })
      })
    },
    kill: async () => {
      await running.signal('SIGKILL')
      await running.exited
      await read()
    },
    get ended() {
      return read().then(() => running.exited)
    },
  }
}

/** Returns everything that a command shows until it ends. */
export async function textOf(opened: Promise<Screen>): Promise<string> {
  const screen = await opened
  await screen.ended
  return screen.text()
}
