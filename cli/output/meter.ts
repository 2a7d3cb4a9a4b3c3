import { isSeen, redrawLine } from './terminal.ts'

/** Shows on stderr how many bytes have moved, and how fast, if stderr is a terminal. */
export interface Meter {
  add(bytes: number): void
  /** Removes its line. */
  end(): void
}

/** Starts the display of a transfer of `totalBytes`, or of unknown length. */
export function createMeter(label: string, totalBytes: number | null): Meter {
  if (!isSeen()) return { add: () => undefined, end: () => undefined }
  const begun = performance.now()
  let bytes = 0
  let shownAt = begun
  return {
    add: (more) => {
      bytes += more
      const now = performance.now()
      if (now - shownAt < REDRAW_MS) return
      shownAt = now
      const of = totalBytes === null ? '' : ` of ${formatBytes(totalBytes)}`
      const rate = formatBytes((bytes * 1000) / (now - begun))
      redrawLine(`${label}: ${formatBytes(bytes)}${of}, ${rate}/s`)
    },
    end: () => redrawLine(''),
  }
}

/** Passes on the pieces, and reports each to the meter. */
export async function* metered(pieces: AsyncIterable<Uint8Array>, meter: Meter): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    meter.add(piece.length)
    yield piece
  }
}

/** Formats bytes for people in powers of 1024, like limits of boxes: `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 1023.5 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 99.95 ? value.toFixed(0) : value.toFixed(1)} ${UNITS[unit]}`
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
const REDRAW_MS = 100
