import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Names in the first column of the reference in a README. */
function namesIn(readme: string): string[] {
  const [, reference = ''] = read(readme).split('\n## Reference\n')
  const [table = ''] = reference.split('\n## ')
  const cells = [...table.matchAll(/^\|(.*)\|$/gm)].map(([, row = '']) => row)
  const spans = cells.flatMap((row) => [...row.matchAll(/`(?:\w+\.)?(\w+)[^`]*`/g)])
  return spans.map(([, name = '']) => name)
}

/** Public methods and attributes of the classes in a Python module. */
function pythonNames(module: string): string[] {
  const text = read(`sdk/python/src/boxyard/${module}.py`)
  const methods = text.matchAll(/^ {4}(?:async )?def ([a-z]\w*)\(/gm)
  const attributes = text.matchAll(/^ {8}self\.([a-z]\w*) = /gm)
  return [...methods, ...attributes].map(([, name = '']) => name)
}

test('the README of the TypeScript SDK has all that clients and handles have', () => {
  const client = createBoxyard({ url: 'http://127.0.0.1:1' })
  const names = [client, client.box('demo', 'web')].flatMap((each) => Object.keys(each))
  expect(names).toContain('restore')
  expect(namesIn('sdk/typescript/README.md')).toEqual(expect.arrayContaining(names))
})

test.each(['_sync_client', '_sync_box', '_async_client', '_async_box'])(
  'the README of the Python SDK has all of %s',
  (module) => {
    const names = pythonNames(module)
    expect(names.length).toBeGreaterThan(8)
    expect(namesIn('sdk/python/README.md')).toEqual(expect.arrayContaining(names))
  },
)

test('the documented command packs the TypeScript SDK alone', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const program = scripts['sdk:pack']?.split(' ').at(-1) ?? ''
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-sdk-pack-'))
  try {
    const printed = execFileSync(process.execPath, [join(ROOT, program), directory], { encoding: 'utf8' })
    const { version } = JSON.parse(read('sdk/typescript/package.json')) as { version: string }
    const file = `boxyard-sdk-${version}.tgz`
    expect(printed).toBe(`${join(directory, file)}\n`)
    const members = execFileSync('tar', ['-tzf', join(directory, file)], { encoding: 'utf8' })
    expect(members.split('\n')).toEqual(expect.arrayContaining(['package/dist/index.js', 'package/dist/index.d.ts']))
    for (const page of ['docs/sdk.md', 'sdk/typescript/README.md'])
      expect([page, read(page)]).toEqual([page, expect.stringContaining(`\`npm run sdk:pack\` packs`)])
    for (const page of ['docs/sdk.md', 'sdk/typescript/README.md']) expect(read(page)).toContain(`dist/${file}`)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
