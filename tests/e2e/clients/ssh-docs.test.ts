import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { runToEnd, useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { commandsIn, missingFrom } from '../../helpers/console-blocks.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { freePort } from '../../helpers/service.ts'

const PAGE = 'docs/ssh.md'
const commands = commandsIn(PAGE, readFileSync(join(ROOT, PAGE), 'utf8'))
const lab = useSshLab(useSharedService())
let port = 0

beforeAll(async () => {
  port = await freePort()
  rmSync(lab.path('.ssh'), { recursive: true })
  // OpenSSH looks for its configuration in the home directory of /etc/passwd, not in HOME.
  const programs = { ssh: '/usr/bin/ssh -F ~/.ssh/config', scp: '/usr/bin/scp -F ~/.ssh/config' }
  const words = { ...programs, boxyard: `'${process.execPath}' '${lab.path('boxyard.cjs')}'` }
  mkdirSync(lab.path('bin'))
  for (const [name, line] of Object.entries(words)) {
    writeFileSync(lab.path('bin', name), `#!/bin/sh\nexec ${line} "$@"\n`)
    chmodSync(lab.path('bin', name), 0o755)
  }
  const serve = 'mkdir -p /srv; echo hello > /srv/index.html; exec httpd -f -p 8000 -h /srv'
  await lab.client.put('/v1/projects/demo/boxes/web/services/pages', { command: ['/bin/sh', '-c', serve] })
  const look = 'wget -q -O - http://127.0.0.1:8000/'
  await eventually(async () => (await lab.client.shell('demo', 'web', look)).body.stdout === 'hello\n')
})

test.each(commands)(`${PAGE}:$line: $command`, async ({ command, shown }) => {
  const isServer = command.endsWith(' &')
  const [from, to] = isServer ? ['boxyard proxy &', `boxyard proxy --port ${port}`] : ['1080', String(port)]
  const PATH = `${lab.path('bin')}${delimiter}${process.env['PATH']}`
  const child = lab.start('bash', ['-c', command.replace(from, to)], { PATH, no_proxy: '' })
  child.stdin.end()
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (output += piece.toString()))
  const wanted = shown.map((line) => line.replace('1080', String(port)).replace('…/', `${lab.path()}/`))
  if (isServer) await eventually(() => output.includes('\n'))
  else expect({ code: (await runToEnd(child)).code, output }).toEqual({ code: 0, output })
  expect({ output, missing: missingFrom(output, wanted) }).toEqual({ output, missing: [] })
})
