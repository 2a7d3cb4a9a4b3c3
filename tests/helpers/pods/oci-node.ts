import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type HookListener, type NodeHook, openNodeHook } from '../../../agent/drivers/pods/node-hook.ts'
import { ROOT } from '../../../infra/commands.ts'
import { silentLogger } from '../silent-logger.ts'

/** The result of the wrapper. `reason` is the message that containerd would read from its log. */
export interface OciOutcome {
  exitCode: number | null
  stdout: string
  stderr: string
  reason: string | null
}

/** A node in one directory, only for the wrapper. A fake runc records its calls, and a real hook replaces the agent. */
export interface OciNode {
  /** The FIFO on which the agent of instance `abcd1234` listens. */
  readonly fifo: string
  readonly home: string
  /** Creates the bundle of a container. Null omits its configuration. */
  makeBundle(name: string, config: string | null): string
  /** Runs the wrapper until it exits. */
  run(args: readonly string[], options?: { cwd?: string; input?: string }): Promise<OciOutcome>
  /** Runs `create` as containerd's shim does. Without `isNamed`, the bundle is the working directory. */
  create(bundle: string, options?: { isNamed: boolean }): Promise<OciOutcome>
  /** Starts the agent's hook, and replaces an earlier one. */
  listen(listener?: HookListener): Promise<NodeHook>
  /** Sets the exit code of later calls of runc. */
  answer(status: number): void
  /** Returns the arguments of each call of runc. */
  calls(): string[][]
  /**
   * Returns a record of runc's last call. `name` is `limits`, `environment`, `open` for open files, or `elsewhere` for the files in that
   * directory.
   */
  noted(name: string): string
  close(): void
}

/** Creates a node. The caller must close it. */
export function openOciNode(): OciNode {
  const home = mkdtempSync(join(tmpdir(), 'boxyard-node-'))
  const wrapper = join(home, 'bin/boxyard-oci')
  const runDir = join(home, 'run/abcd1234')
  const children: ChildProcess[] = []
  let hook: NodeHook | null = null
  for (const name of ['bin', 'run/abcd1234', 'calls', 'elsewhere']) mkdirSync(join(home, name), { recursive: true })
  copyFileSync(join(ROOT, 'infra/node/boxyard-oci'), wrapper)
  chmodSync(wrapper, 0o755)
  writeFileSync(join(home, 'bin/runc'), RUNC, { mode: 0o755 })
  writeFileSync(`${wrapper}.conf`, `RUNC='${home}/bin/runc'\nRUN_DIR='${home}/run'\nexport CALLS='${home}/calls'\n`)
  const noted = (name: string): string => readText(join(home, 'calls', name))
  const run: OciNode['run'] = async (args, { cwd = '/', input = '' } = {}) => {
    const child = spawn(wrapper, args, { cwd })
    children.push(child)
    const printed = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (printed.stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (printed.stderr += chunk.toString()))
    // The wrapper can exit before it has read its input.
    child.stdin.on('error', () => undefined).end(input)
    await once(child, 'close')
    const log = args[args.indexOf('--log') + 1] ?? ''
    return { exitCode: child.exitCode, ...printed, reason: readReason(log) }
  }
  return {
    home,
    fifo: join(runDir, 'node.fifo'),
    makeBundle: (name, config) => {
      const bundle = join(home, 'bundles', name)
      mkdirSync(bundle, { recursive: true })
      if (config !== null) writeFileSync(join(bundle, 'config.json'), config)
      return bundle
    },
    run,
    create: (bundle, { isNamed } = { isNamed: true }) => {
      const log = join(home, `log-${bundle.split('/').at(-1)}.json`)
      const global = ['--root', join(home, 'runc'), '--log', log, '--log-format', 'json']
      const own = ['create', ...(isNamed ? ['--bundle', bundle] : []), '--pid-file', join(bundle, 'init.pid'), 'f00d']
      return run([...global, ...own], isNamed ? {} : { cwd: bundle })
    },
    listen: async (listener = CONSENTING) => {
      hook?.close()
      hook = await openNodeHook(runDir, listener, silentLogger)
      return hook
    },
    answer: (status) => writeFileSync(join(home, 'calls/status'), String(status)),
    calls: () =>
      noted('arguments')
        .split('\0\n')
        .slice(0, -1)
        .map((call) => call.split('\0')),
    noted,
    close: () => {
      hook?.close()
      for (const child of children) if (child.exitCode === null) child.kill('SIGKILL')
      rmSync(home, { recursive: true })
    },
  }
}

/** Returns the configuration of a box's container in one line, as containerd writes it. `annotations` replaces fields. */
export function ociConfig(annotations: Record<string, string | undefined> = {}): string {
  const all = { 'io.kubernetes.cri.container-name': 'box', 'boxyard.dev/instance': 'abcd1234', ...annotations }
  return JSON.stringify({ ociVersion: '1.3.0', process: { args: ['/pause'] }, annotations: all })
}

/** Returns the message of the last log line if that is an error, or else null. */
function readReason(log: string): string | null {
  const text = readText(log).trimEnd()
  if (text === '') return null
  const last = text
    .split('\n')
    .map((line) => JSON.parse(line) as { level: string; msg: string })
    .at(-1)
  return last?.level === 'error' ? last.msg : null
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

const CONSENTING: HookListener = { prepare: async () => undefined, created: async () => undefined }

// Copies its input to stdout. Exits with the code in the file `status`.
const RUNC = `#!/bin/sh
{ for each; do printf '%s\\0' "$each"; done; echo; } >>"$CALLS/arguments"
ls "$CALLS/../elsewhere" >"$CALLS/elsewhere"
{ ulimit -c; ulimit -Hc; } >"$CALLS/limits"
env >"$CALLS/environment"
for fd in /proc/$$/fd/[0-9]; do readlink "$fd"; done >"$CALLS/open"
cat
previous=
for each; do
  [ "$previous" = --pid-file ] && echo 4711 >"$each"
  previous=$each
done
exit "$(cat "$CALLS/status" 2>/dev/null || echo 0)"
`
