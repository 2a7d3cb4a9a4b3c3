import fs from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import type { RuntimeProblem } from '../../ports/boxes/problems.ts'

/** Terminals (pseudo-terminal pairs) of a box at once, the `max` of its devpts mount. Each may hold 100 KiB of uncharged kernel memory. */
export const TERMINALS_PER_BOX = 64

/** `kernel.pty.max`, and `kernel.pty.reserve`, which is the part that only the host's own devpts can use. */
export interface TerminalLimits {
  max: number
  reserve: number
}

/** Returns the host's limits of terminals, or null where /proc does not have them. */
export function readTerminalLimits(): TerminalLimits | null {
  const [max, reserve] = ['max', 'reserve'].map((name) => Number.parseInt(tryReadText(`${DIRECTORY}/${name}`), 10))
  return max === undefined || reserve === undefined || Number.isNaN(max + reserve) ? null : { max, reserve }
}

/** Returns the `kernel.pty.max` that leaves each of `boxes` boxes its terminals beside the host's reserve. */
export function wantedTerminals(boxes: number, { reserve }: Pick<TerminalLimits, 'reserve'>): number {
  return boxes * TERMINALS_PER_BOX + reserve
}

/** Raises `kernel.pty.max` so that each of `boxes` boxes can have its terminals, and never lowers it. Only logs a failure. */
export function raiseTerminals(boxes: number, logger: Logger): void {
  const limits = readTerminalLimits()
  if (limits === null || limits.max >= wantedTerminals(boxes, limits)) return
  try {
    fs.writeFileSync(`${DIRECTORY}/max`, String(wantedTerminals(boxes, limits)))
  } catch (error) {
    logger.warn('failed to raise kernel.pty.max', { error })
  }
}

/** Lists the problem of a host on which `boxes` boxes cannot all have their terminals. */
export function terminalProblems(boxes: number): RuntimeProblem[] {
  const limits = readTerminalLimits()
  if (limits === null || limits.max >= wantedTerminals(boxes, limits)) return []
  const wanted = wantedTerminals(boxes, limits)
  return [
    {
      code: 'terminals_few',
      evidence: `kernel.pty.max is ${limits.max}, but ${boxes} boxes can open ${wanted} terminals. Some boxes may get none.`,
      remedy: `Run \`sysctl -w kernel.pty.max=${wanted}\`, and save it in /etc/sysctl.d.`,
    },
  ]
}

const DIRECTORY = '/proc/sys/kernel/pty'
