import fs from 'node:fs'
import { join } from 'node:path'
import type { OutputPlace, OutputStream } from '../../ports/exec/outputs.ts'

/** The file of a command below the `directory` of all boxes: of a stream, or the note of how it ended. */
export function execFile(directory: string, { boxId, execId }: OutputPlace, part: OutputStream | 'exit'): string {
  return join(directory, boxId, `${execId}.${part}`)
}

/** Makes the directory of a box's commands, mode 0700, unless it is there. */
export function makeExecDirectory(directory: string, boxId: string): void {
  fs.mkdirSync(join(directory, boxId), { recursive: true, mode: 0o700 })
}
