import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildCli } from '../../infra/cli-bundle.ts'
import { agentCommand, ROOT } from '../../infra/commands.ts'
import { commandsIn, type DocumentedCommand, filesIn, missingFrom } from '../helpers/console-blocks.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import type { TestService } from '../helpers/service.ts'

/** Pages with commands, each with the commands that its reader has already run. */
export type DocumentedPages = Readonly<Record<string, string>>

/** The README and the subject pages of `docs/`. */
export const SUBJECT_PAGES: DocumentedPages = {
  'README.md': '',
  'docs/tour.md': '',
  'docs/cli.md': '',
  'docs/api.md': '',
  'docs/access.md': '',
  'docs/edge.md': 'curl -s $P/boxes -H "$AUTH" --json \'{"name":"web"}\'',
  'docs/services.md': `curl -s $P/boxes -H "$AUTH" --json '{"name":"web"}'
    for n in 1 2; do printf '#!/bin/sh\\nexec sleep 600\\n' | curl -s -T - -H 'Content-Type: application/octet-stream' \\
      "$B/files/write?path=/srv/web-$n&mode=0755" -H "$AUTH"; done
    curl -s -X PUT $B/services/web -H "$AUTH" --json '{"command":["/srv/web-1"]}'`,
  'docs/bases.md': `mkdir -p root/bin && cp /bin/busybox root/bin/ && ln -sf busybox root/bin/sh
    tar --zstd -C root -cf alpine.tar.zst .`,
}

/** Pages of `docs/how-to/` whose files and commands run here. */
export const HOW_TO_PAGES: DocumentedPages = {
  'docs/how-to/agent-loop.md': '',
  'docs/how-to/ci.md': '',
  'docs/how-to/pull-request-previews.md': '',
  'docs/how-to/team.md': '',
}

/** Commands that other tests run, because they need a terminal, the Internet, or a service of their own. */
const ELSEWHERE: readonly [RegExp, string][] = [
  [/^npm run up$/, 'tests/e2e/up.test.ts'],
  [/^boxyard console /, 'tests/e2e/clients/cli.test.ts'],
  [/^boxyard port-forward /, 'tests/e2e/clients/port-forward.test.ts'],
  [/"image":/, 'tests/e2e/bases/pulled-bases-suite.ts'],
  [/^node agent\.mts/, 'tests/e2e/clients/agent-loop.test.ts'],
  [/^python3 agent\.py/, 'tests/clients/agent-loop.test.ts'],
]

/** Matches commands that run once. The others only read, and repeat until they print what the page shows. */
const CHANGES = /--json|-X|-T|--data|npm |boxyard (?!ls|ps|logs|cat|info|url|events|audit)|sh \w/

let service: TestService
let directory: string
let pages: DocumentedPages
/** Working directory of the reader of the page. */
let workplace: string
/** Variable assignments of the page so far. */
let variables: string[]

/** Defines the tests of the commands in pages, for a service with the Debian base and a fixed edge port. */
export function testDocumentedCommands(started: () => TestService, tested: DocumentedPages): void {
  pages = tested
  beforeAll(async () => {
    service = started()
    directory = mkdtempSync(join(tmpdir(), 'boxyard-docs-'))
    const program = await buildCli(directory)
    const host = agentCommand([]).map((word) => `'${word}'`)
    mkdirSync(join(directory, 'programs'))
    // Like the Debian package, installs one program for the client and the host.
    const either = `#!/bin/sh\n[ "$1" != admin ] || exec ${host.join(' ')} "$@"\nexec node ${program} "$@"\n`
    writeFileSync(join(directory, 'programs/boxyard'), either, { mode: 0o755 })
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  describe.each(Object.keys(pages))('the commands in %s', testPage)

  test('every command that does not run here runs elsewhere', () => {
    const all = Object.keys({ ...SUBJECT_PAGES, ...HOW_TO_PAGES }).flatMap((page) => commandsIn(page, read(page)))
    for (const [pattern, file] of ELSEWHERE) {
      expect([pattern, all.some(({ command }) => pattern.test(command))]).toEqual([pattern, true])
      expect(read(file)).toMatch(/\btest\w*\(/)
    }
  })
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

function testPage(page: string): void {
  const commands = commandsIn(page, read(page))

  beforeAll(async () => {
    workplace = workplaceOf(page)
    mkdirSync(workplace, { recursive: true })
    variables = [
      `API=${service.url}`,
      `TOKEN=${service.adminToken}`,
      'AUTH="Authorization: Bearer $TOKEN"',
      'P=$API/v1/projects/demo B=$P/boxes/web',
    ]
    // No user has logged in.
    await runDocScript('rm -rf ~/.config; for box in web try; do curl -s -X DELETE $P/boxes/$box -H "$AUTH"; done')
    expect(await runDocScript(pages[page] ?? '')).toMatchObject({ code: 0 })
    for (const [path, content] of filesIn(read(page))) {
      mkdirSync(dirname(join(workplace, path)), { recursive: true })
      writeFileSync(join(workplace, path), here(content))
    }
  })

  test('are some', () => expect(commands.length).toBeGreaterThan(0))

  test.each(commands.filter(({ command }) => !isElsewhere(command)))(
    'line $line does what the page shows',
    async (shown) => {
      // The reader of the tour restarts the service before listing the commands.
      if (page === 'docs/tour.md' && /^boxyard ps /.test(shown.command)) await service.restart()
      const isRead = !CHANGES.test(shown.command)
      await (isRead ? untilSucceeds(() => follow(shown)) : follow(shown))
    },
  )
}

/** Returns the directory in which a reader of a page works. */
export function workplaceOf(page: string): string {
  return page in HOW_TO_PAGES ? join(directory, basename(page, '.md')) : directory
}

function isElsewhere(command: string): boolean {
  return ELSEWHERE.some(([pattern]) => pattern.test(command))
}

async function follow({ command, shown }: DocumentedCommand): Promise<void> {
  const { code, output } = await runDocScript(command)
  // Where the page shows a refusal, the command may fail.
  // A filter that reads only the beginning, such as `head`, ends the program before it by SIGPIPE.
  const ends = /\| head/.test(command) ? [0, 128 + constants.signals.SIGPIPE] : [0]
  if (shown.length === 0) expect({ ends, output }).toEqual({ ends: expect.arrayContaining([code]), output })
  expect({ output, missing: missingFrom(output, shown.map(here)) }).toEqual({ output, missing: [] })
  // The output may contain a problem only where the page shows one.
  if (!shown.join().includes('/problems/')) expect(output).not.toContain('"type":"/problems/')
  if (/^(export )?\w+=/.test(command)) variables.push(here(command))
}

/** Replaces the addresses and directories of a reader's service with this service's, and shortens the longest sleep. */
function here(command: string): string {
  const { environment, url, dataDir } = service
  return command
    .replaceAll('http://127.0.0.1:8080', url)
    .replaceAll(':8081', `:${environment['BOXYARD_EDGE_PORT']}`)
    .replaceAll('/var/lib/boxyard', dataDir)
    .replaceAll('npm run', `npm --prefix ${ROOT} run`)
    .replaceAll('--global ./cli', `--global ${ROOT}/cli`)
    .replaceAll('sleep 20;', 'sleep 3;')
}

/** Runs a script after the page's variable assignments, by default in the page's directory. */
export function runDocScript(script: string, cwd = workplace): Promise<{ code: number | null; output: string }> {
  const child = spawn('bash', ['-o', 'pipefail', '-c', [...variables, here(script)].join('\n')], {
    cwd,
    env: {
      ...service.environment,
      // Programs that the reader installs come before the programs of the other pages.
      PATH: `${directory}/bin:${directory}/programs:${process.env['PATH']}`,
      HOME: directory,
      npm_config_prefix: directory,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}
