import { parseEnv } from 'node:util'
import { expect, test } from '@jest/globals'
import { readServiceFile, tellAmbiguous, writeServiceFile } from '../../../agent/config/service-file.ts'

test.each([
  ['a word after a value', 'BOXYARD_LOG_LEVEL=debug # verbose', ['"debug # verbose"', '"debug"']],
  ['a # in a value', 'BOXYARD_DATA_DIR=/srv/x#1', ['"/srv/x#1"', '"/srv/x"']],
  ['a word of shells', 'export BOXYARD_BASE=busybox', ['not set', '"busybox"']],
  ['a word after quotes', "BOXYARD_BASE='debian' x", ['"debianx"', '"debian"']],
  ['a line that goes on', 'BOXYARD_BASE=busy\\\nbox', ['"busybox"', '"busy\\\\"']],
])('%s is read otherwise by the services than by the command, and told', (_case, text, [served = '', ours = '']) => {
  const told = tellAmbiguous(`BOXYARD_PORT=1\n${text}\nBOXYARD_HOST=::1\n`, '/conf')
  expect(told).toEqual([
    expect.stringMatching(
      /^BOXYARD_\w+ in \/conf is .* for the services, but .* for this command\. Write it as NAME=value/,
    ),
  ])
  expect(told[0]).toContain(` is ${served} for the services, but ${ours} for this command`)
})

test.each([
  ['plain values', 'BOXYARD_PORT=8080\nBOXYARD_EDGE_ACME=admin@example.org'],
  ['spaces about', '  BOXYARD_PORT = 8080  \n\tBOXYARD_HOST=::1\t'],
  ['quotes', 'BOXYARD_DATA_DIR=\'/srv/a b\'\nBOXYARD_RUN_DIR="/run/c # d"'],
  ['comments and empty lines', '# BOXYARD_PORT=1 # x\n\n   # it is\nBOXYARD_PORT=2\n'],
  ['an empty value', 'BOXYARD_PORT=\nBOXYARD_HOST=::1'],
  ['settings of others', 'PATH_OF_OTHERS=a # b'],
  ['a name given twice', 'BOXYARD_PORT=1\nBOXYARD_PORT=2'],
  ['nothing', ''],
])('%s are read alike', (_case, text) => expect(tellAmbiguous(text, '/conf')).toEqual([]))

const SAME_TO_BOTH = {
  BOXYARD_A: '/var/lib/boxyard',
  BOXYARD_B: "it's",
  BOXYARD_C: 'say "hi"',
  BOXYARD_D: 'a b # c ; d',
  BOXYARD_E: '$HOME `x` \\',
  BOXYARD_F: "it's $x `y` # z",
  BOXYARD_G: 'two\nlines',
  BOXYARD_H: '',
  BOXYARD_I: " it's ",
}

test('variables that are written are read by systemd and Node.js as they were', () => {
  const text = writeServiceFile(SAME_TO_BOTH)
  expect(readServiceFile(text)).toEqual(SAME_TO_BOTH)
  expect(parseEnv(text)).toEqual(SAME_TO_BOTH)
})

test('one that cannot be the same to both is right for the services, and told', () => {
  const settings = { BOXYARD_A: `it's "both"`, BOXYARD_B: "it's \\", BOXYARD_C: "it's\ntwo" }
  const text = writeServiceFile(settings)
  expect(readServiceFile(text)).toEqual(settings)
  expect(tellAmbiguous(text, '/x')).toEqual(
    Object.keys(settings).map((name) => expect.stringContaining(`${name} in /x`)),
  )
})
