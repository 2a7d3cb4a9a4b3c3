import { closeSync, existsSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

export interface LogFile {
  /** Appends one line. If the host disk is full, the line is lost and the service keeps running. */
  write(line: string): void
  close(): void
}

/**
 * Opens a bounded log, after what earlier runs have written to it: `path` and five older files, `path.1` … `path.5`, each at most
 * `maxBytes`. Only lines rotate it, so that failed starts push nothing away.
 */
export function openLogFile(path: string, maxBytes = 32 * 1024 * 1024): LogFile {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let descriptor = openSync(path, 'a', 0o600)
  let sizeBytes = fstatSync(descriptor).size
  return {
    write: (line) => {
      const bytes = Buffer.from(`${line}\n`)
      try {
        if (sizeBytes + bytes.length > maxBytes) {
          closeSync(descriptor)
          descriptor = openNext(path)
          sizeBytes = 0
        }
        writeSync(descriptor, bytes)
        sizeBytes += bytes.length
      } catch {
        // There is no other place to report it.
      }
    },
    close: () => closeSync(descriptor),
  }
}

function openNext(path: string): number {
  rmSync(`${path}.${KEPT}`, { force: true })
  for (let i = KEPT - 1; i >= 0; i--) {
    const older = i === 0 ? path : `${path}.${i}`
    if (existsSync(older)) renameSync(older, `${path}.${i + 1}`)
  }
  return openSync(path, 'a', 0o600)
}

const KEPT = 5
