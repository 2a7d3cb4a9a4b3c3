import { writeSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { ReadStream } from 'node:tty'
import { closeFd, controlBuffer, duplicateFd } from './descriptors.ts'
import { isErrno } from './libc.ts'

/** The master side of a pseudo-terminal. */
export interface Pty {
  /**
   * Terminal input. Ending it sends the VEOF character if the terminal is in canonical mode, and nothing otherwise. Destroying it leaves
   * the terminal unchanged.
   */
  stdin: Writable
  /** Terminal output. Ends when no program has the terminal open. Destroying it hangs the terminal up. */
  stdout: Readable
  /** Sets the window size, each number 1–65,535. Does nothing if the terminal is gone. */
  resize(size: { cols: number; rows: number }): void
}

/** Returns true if `fd` is the master of a pseudo-terminal. */
export function isPtyMaster(fd: number): boolean {
  try {
    controlBuffer(fd, TIOCGPTN, Buffer.alloc(4))
    return true
  } catch (error) {
    if (isErrno(error, 'ENOTTY', 'EIO', 'EINVAL')) return false
    throw error
  }
}

/** Wraps the pseudo-terminal master `fd` and takes ownership of it. */
export function openPty(fd: number): Pty {
  const copy = duplicateOrClose(fd)
  const output = new ReadStream(fd)
  // Uses its own descriptor, so that closing the input does not cut off output that is still to be read.
  const input = new ReadStream(copy)
  // Node leaves it blocking. A program that does not read its input would then block this process forever.
  controlBuffer(fd, FIONBIO, Buffer.from([1, 0, 0, 0]))
  // A read fails with EIO once no program has the terminal open and all their output has been read.
  for (const line of [output, input]) line.on('error', () => undefined)
  output.on('close', () => input.destroy())
  return {
    stdin: createKeyboard(input, copy),
    stdout: createScreen(output),
    resize: ({ cols, rows }) => {
      if (output.destroyed) return
      const size = Buffer.alloc(WINSIZE_BYTES)
      size.writeUInt16LE(rows, 0)
      size.writeUInt16LE(cols, 2)
      controlBuffer(fd, TIOCSWINSZ, size)
    },
  }
}

/**
 * Makes the terminal of the master `fd` erase whole characters of UTF-8 in the lines that it edits, as sshd and terminal emulators do.
 * Call before a program has the terminal, since programs restore the settings that they found.
 */
export function editInUtf8(fd: number): void {
  const settings = Buffer.alloc(TERMIOS_BYTES)
  controlBuffer(fd, TCGETS, settings)
  settings.writeUInt32LE(settings.readUInt32LE(TERMIOS_IFLAG) | IUTF8, TERMIOS_IFLAG)
  controlBuffer(fd, TCSETS, settings)
}

function duplicateOrClose(fd: number): number {
  try {
    return duplicateFd(fd)
  } catch (error) {
    closeFd(fd)
    throw error
  }
}

function createScreen(line: ReadStream): Readable {
  const screen = new Readable({
    highWaterMark: CHUNK_BYTES,
    read: () => void line.resume(),
    destroy: (error, done) => {
      line.destroy()
      done(error)
    },
  })
  line.on('data', (chunk: Buffer) => {
    if (!screen.push(chunk)) line.pause()
  })
  line.on('close', () => screen.push(null))
  return screen
}

function createKeyboard(line: ReadStream, fd: number): Writable {
  let last = NEWLINE
  let timer: NodeJS.Timeout | undefined
  // Does not write through the stream, which would retry in a busy loop while the program does not read.
  const send = (bytes: Buffer, done: () => void, pauseMs = MIN_PAUSE_MS): void => {
    const left = line.destroyed ? NOTHING : writeSome(fd, bytes)
    if (left.length === 0) {
      done()
      return
    }
    const nextMs = left.length < bytes.length ? MIN_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS)
    timer = setTimeout(() => send(left, done, nextMs), pauseMs)
  }
  return new Writable({
    highWaterMark: CHUNK_BYTES,
    write: (chunk: Buffer, _, done) => {
      last = chunk.at(-1) ?? last
      send(chunk, done)
    },
    final: (done) => {
      if (line.destroyed) done()
      else send(endOfInput(fd, last), done)
    },
    destroy: (error, done) => {
      clearTimeout(timer)
      line.destroy()
      done(error)
    },
  })
}

/** Returns the bytes that did not fit. None if the terminal is gone. */
function writeSome(fd: number, bytes: Buffer): Buffer {
  let left = bytes
  try {
    while (left.length > 0) left = left.subarray(writeSync(fd, left))
    return left
  } catch (error) {
    return isErrno(error, 'EAGAIN') ? left : NOTHING
  }
}

// After an unfinished line the first VEOF flushes that line, and only a second one ends the input.
function endOfInput(fd: number, last: number): Buffer {
  const settings = Buffer.alloc(TERMIOS_BYTES)
  controlBuffer(fd, TCGETS, settings)
  const end = settings[TERMIOS_VEOF] ?? 0
  const takesLines = (settings.readUInt32LE(TERMIOS_LFLAG) & ICANON) !== 0
  return takesLines && end !== 0 ? Buffer.alloc(last === NEWLINE ? 1 : 2, end) : Buffer.alloc(0)
}

const CHUNK_BYTES = 65_536
const MIN_PAUSE_MS = 2
const MAX_PAUSE_MS = 100
const NOTHING = Buffer.alloc(0)
const NEWLINE = 10
const TCGETS = 0x5401
const TCSETS = 0x5402
const TIOCSWINSZ = 0x5414
const TIOCGPTN = 0x80045430
const FIONBIO = 0x5421
const ICANON = 2
const IUTF8 = 0x4000
const WINSIZE_BYTES = 8
/** struct termios of the kernel: four words of flags, the line discipline, then special characters. */
const TERMIOS_BYTES = 64
const TERMIOS_IFLAG = 0
const TERMIOS_LFLAG = 12
const TERMIOS_VEOF = 17 + 4
