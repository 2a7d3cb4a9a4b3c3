import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { packCli } from '../../infra/release/clients.ts'
import { createClient } from '../helpers/front/client.ts'
import { freePort, startService, type TestService } from '../helpers/service.ts'
import { readWorkflow, stepsOf } from '../helpers/workflows.ts'
import { HOW_TO_PAGES, runDocScript, testDocumentedCommands, workplaceOf } from './docs-suite.ts'

const CI = 'docs/how-to/ci.md'
const PREVIEWS = 'docs/how-to/pull-request-previews.md'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_BASE: 'debian', BOXYARD_EDGE_PORT: String(await freePort()) } })
})

afterAll(() => service.close())

testDocumentedCommands(() => service, HOW_TO_PAGES)

async function boxesOf(project: string): Promise<string[]> {
  const { body } = await client.get(`/v1/projects/${project}/boxes`)
  return (body.boxes as { name: string }[]).map(({ name }) => name)
}

describe('ci.sh', () => {
  test('deletes the boxes of a job that is cancelled', async () => {
    writeFileSync(join(workplaceOf(CI), 'Makefile'), 'build:\n\techo waiting; sleep 600\n')
    const script = `export ${here(CI)}
      bash ci.sh 9 > ci.log 2>&1 & job=$!
      until grep -q ^waiting ci.log; do sleep 0.1; done
      boxyard -p ci ls -o name
      kill $job; wait $job`
    expect(await runDocScript(script, workplaceOf(CI))).toMatchObject({
      code: 143,
      output: expect.stringContaining('job-9\n'),
    })
    expect(await boxesOf('ci')).toEqual([])
  })
})

/** Returns the variable assignments for the scripts of a page. */
function here(page: string): string {
  const token = readFileSync(
    join(dirname(workplaceOf(page)), page === CI ? 'ci.token' : 'previews.token'),
    'utf8',
  ).trim()
  return `BOXYARD_URL=${service.url} BOXYARD_TOKEN=${token}`
}

describe('the workflow', () => {
  let packed: string

  beforeAll(async () => {
    packed = mkdtempSync(join(tmpdir(), 'boxyard-packed-'))
    const archive = await packCli(ROOT, packed)
    for (const page of [CI, PREVIEWS]) {
      mkdirSync(join(workplaceOf(page), 'ci'))
      cpSync(archive, join(workplaceOf(page), 'ci', basename(archive)))
    }
  })
  afterAll(() => rmSync(packed, { recursive: true, force: true }))

  /** Runs the steps of a page's workflow as GitHub does, and returns what they print. */
  const follow = async (page: string, values: Record<string, string>): Promise<string> => {
    const job = readWorkflow(readFileSync(join(ROOT, page), 'utf8'))
    // Replaces GitHub's CLI by a function that prints its arguments.
    const outside = `export ${here(page)}\ngh() { echo "gh $*"; }\n`
    let printed = ''
    for (const step of stepsOf(job, values)) {
      const { code, output } = await runDocScript(`${outside}set -e\n${step}`, workplaceOf(page))
      printed += output
      expect({ step, code, output }).toMatchObject({ code: 0 })
    }
    return printed
  }

  test('of previews comments the URL of each push, and deletes the box when the pull request is closed', async () => {
    const site = `http://site--pr-7--previews.localhost:${service.environment['BOXYARD_EDGE_PORT']}/`
    const pullRequest = (action: string, commit: string, repository = 'a/b'): Record<string, string> => ({
      'github.repository': 'a/b',
      'github.event.action': action,
      'github.event.number': '7',
      'github.event.pull_request.head.sha': commit,
      'github.event.pull_request.head.repo.full_name': repository,
    })
    for (const commit of ['1111111', '2222222']) {
      const printed = await follow(PREVIEWS, pullRequest('synchronize', commit))
      expect(printed).toContain(`gh pr comment 7 --edit-last --create-if-none --body Preview of ${commit}: ${site}\n`)
    }
    expect(await boxesOf('previews')).toEqual(['pr-7'])
    await follow(PREVIEWS, pullRequest('closed', '2222222'))
    expect(await boxesOf('previews')).toEqual([])
    expect(await follow(PREVIEWS, pullRequest('opened', '3333333', 'c/b'))).toBe('')
  })

  test('of jobs runs the script, and leaves no box', async () => {
    writeFileSync(join(workplaceOf(CI), 'Makefile'), 'build:\ntest:\n\tmkdir -p reports; touch reports/$(SHARD)\n')
    await follow(CI, { 'github.run_id': '4711', 'github.run_attempt': '1' })
    expect(await boxesOf('ci')).toEqual([])
  })
})
