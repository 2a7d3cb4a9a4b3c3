import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { archiveOf, packWorkTree } from '../helpers/vm/release.ts'
import { TEST_LIMIT_MS, useInstalled } from '../helpers/vm/use-installed.ts'

const { machine } = useInstalled()
const DIRECTORY = '/root/documents'

/** Returns the shell commands of a page, one per line. */
function commandsOf(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block)
  return blocks.flatMap((block) => block.split('\n')).filter((line) => line !== '')
}

beforeAll(async () => {
  const deb = await packWorkTree()
  await machine().run(`mkdir ${DIRECTORY}`)
  for (const file of [deb, archiveOf(deb)]) await machine().copyIn(file, `${DIRECTORY}/${basename(file)}`)
}, TEST_LIMIT_MS)

test.each(['docs/install.md', 'docs/operations.md'])('every command of %s works as it stands', async (page) => {
  const commands = commandsOf(page)
  expect(commands.length).toBeGreaterThan(2)
  for (const command of commands) {
    const { exitCode, stdout, stderr } = await machine().try(`cd ${DIRECTORY} && ${command}`)
    // The machine reaches no nameserver, which doctor reports.
    const allowed = command === 'boxyard doctor' ? [0, 1] : [0]
    expect([command, allowed.includes(exitCode) ? '' : `${exitCode} ${stdout}${stderr}`]).toEqual([command, ''])
    await untilServing(machine())
  }
})
