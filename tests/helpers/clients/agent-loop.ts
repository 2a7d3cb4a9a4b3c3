import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { commandsIn, filesIn } from '../console-blocks.ts'
import { eventually } from '../eventually.ts'
import type { UsedService } from '../own-service.ts'

const PAGE = 'docs/how-to/agent-loop.md'
const BOXES = '/v1/projects/agents/boxes'

/** Returns a program of docs/how-to/agent-loop.md and the output lines that the page shows. */
export function readLoop(file: 'agent.mts' | 'agent.py'): { text: string; prints: readonly string[] } {
  const page = readFileSync(join(ROOT, PAGE), 'utf8')
  const text = filesIn(page).get(file)
  const shown = commandsIn(PAGE, page).find(({ command }) => command.split(' ')[1] === file)
  if (text === undefined || shown === undefined) throw new Error(`${PAGE} has no ${file} with its output.`)
  return { text, prints: shown.shown }
}

/** Saves and starts a program of the page for a test. */
export interface LoopRunner {
  file: 'agent.mts' | 'agent.py'
  /** Saves the program and returns the command that runs it for a job. */
  save(text: string): readonly string[]
  env(): NodeJS.ProcessEnv
}

/** Defines tests for a program of the page, in the project `agents` of a service. */
export function testLoop({ client, service }: UsedService, runner: LoopRunner): void {
  const { text, prints } = readLoop(runner.file)
  const start = (program: string, job: string): { child: ChildProcess; output: () => string } => {
    const [file = '', ...args] = runner.save(program)
    const env = { ...runner.env(), BOXYARD_URL: service().url, BOXYARD_TOKEN: service().adminToken }
    const child = spawn(file, [...args, job], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
    return { child, output: () => output }
  }
  const ended = (child: ChildProcess): Promise<number | null> => new Promise((resolve) => child.once('close', resolve))
  const boxes = async (): Promise<string[]> =>
    ((await client.get(BOXES)).body.boxes as { name: string }[]).map(({ name }) => name)
  /** Starts the program with a risky step that takes long, and waits until the step runs. */
  const startLong = async (job: string): Promise<ReturnType<typeof start>> => {
    const long = text.replace('exit 1', 'sleep 600')
    expect(long).not.toBe(text)
    const run = start(long, job)
    await eventually(() => run.output().includes('cleaning up') || run.child.exitCode !== null)
    expect(run.output()).toContain('cleaning up')
    return run
  }

  test('it prints what the page shows, and leaves no box', async () => {
    const { child, output } = start(text, 'job-1')
    expect({ code: await ended(child), lines: output().trimEnd().split('\n') }).toEqual({ code: 0, lines: prints })
    expect(await boxes()).toEqual([])
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('it deletes its boxes at %s', async (signal) => {
    const { child, output } = await startLong('job-2')
    expect(await boxes()).toEqual(['job-2'])
    child.kill(signal)
    expect({ code: await ended(child), output: output() }).toEqual({
      code: 130,
      output: expect.stringContaining('stopped'),
    })
    expect(await boxes()).toEqual([])
  })

  test('it deletes what a run left that was killed', async () => {
    const { child } = await startLong('job-3')
    child.kill('SIGKILL')
    await ended(child)
    const { body } = await client.get(`${BOXES}/job-3`)
    expect(body).toMatchObject({ config: { cpus: 1, ram_mb: 256 }, url_settings: { idle_stop_seconds: 1800 } })
    const again = start(text, 'job-3')
    expect({ code: await ended(again.child), output: again.output() }).toMatchObject({ code: 0 })
    expect(await boxes()).toEqual([])
  })
}

/** Creates the base that the page uses, from a box with the service's own base. */
export async function makeAgentTools({ client }: UsedService): Promise<void> {
  expect((await client.post(BOXES, { name: 'tools' })).status).toBe(201)
  expect((await client.shell('agents', 'tools', 'mkdir -p /srv/agent')).body).toMatchObject({ exit_code: 0 })
  expect((await client.post('/v1/projects/agents/bases', { name: 'agent-tools', box: 'tools' })).status).toBe(201)
  await client.delete(`${BOXES}/tools`)
}
