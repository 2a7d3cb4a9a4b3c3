import { execFileSync } from 'node:child_process'
import { expect, test } from '@jest/globals'
import { findHygieneFaults } from '../../infra/hygiene.ts'
import { withTree } from '../helpers/files/tree.ts'

test('what must not be published is found in files that git tracks or would', async () => {
  const files = {
    '.gitignore': 'ignored\n',
    'clean.ts': 'export const fine = 1\n',
    ignored: '/ro' + 'ot/secret\n',
    'path.ts': '// fine\n// see /ro' + 'ot/notes\n',
    'host.json': '{ "from": "https://registry.npm' + 'js.org/a.tgz" }\n',
    'key.pem': '-----BEGIN PRIVATE' + ' KEY-----\n',
    'merge.md': '<<<<<<<' + ' ours\n',
    'later.ts': '// TO' + 'DO: later\n',
  }
  const faults = await withTree(files, (root) => {
    execFileSync('git', ['init', '-q', root])
    execFileSync('git', ['-C', root, 'add', 'host.json'])
    return findHygieneFaults(root)
  })
  const found = faults.map(({ file, line }) => `${file}:${line}`).sort()
  expect(found).toEqual(['host.json:1', 'key.pem:1', 'later.ts:1', 'merge.md:1', 'path.ts:2'])
})
