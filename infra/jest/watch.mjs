import { readdirSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

/**
 * A jest reporter that ends the worker of a test file after a quarter of an hour (`TEST_FILE_MINUTES`). The limit is half an hour if
 * nothing is left out of it. The file then fails and the others continue. jest's own limits end no file that blocks its worker, or waits
 * while it loads.
 */
export default class StuckFileReporter {
  #timers = new Map()

  onTestFileStart({ path }) {
    this.#timers.set(path, setTimeout(() => endWorkerOf(path), LIMIT_MS).unref())
  }

  onTestFileResult({ path }) {
    clearTimeout(this.#timers.get(path))
  }
}

// The environment of a test file names its process by the path (tests/environment.mjs).
function endWorkerOf(path) {
  const file = relative(process.cwd(), path)
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  for (const worker of pids.filter((pid) => read(pid, 'cmdline').startsWith(`jest ${file}`))) {
    const children = descendantsOf(worker, pids)
    const commands = children.map((pid) => `  ${pid} ${read(pid, 'cmdline').replaceAll('\0', ' ')}\n`)
    process.stderr.write(`${file} takes more than ${LIMIT_MS / 60_000} minutes. Its process waits in the kernel at:\n`)
    process.stderr.write(`${read(worker, 'stack')}Processes that it started:\n${commands.join('')}`)
    for (const pid of [worker, ...children]) tryKill(Number(pid))
  }
}

function descendantsOf(parent, pids) {
  const children = pids.filter((pid) => read(pid, 'status').includes(`\nPPid:\t${parent}\n`))
  return children.flatMap((pid) => [pid, ...descendantsOf(pid, pids)])
}

function read(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}

function tryKill(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by now.
  }
}

const LIMIT_MS = Number(process.env.TEST_FILE_MINUTES ?? (process.env.TEST_DRAW === 'all' ? 30 : 15)) * 60_000
