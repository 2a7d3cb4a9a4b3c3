import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../helpers/clients/command-line.ts'
import { PageReader, partOf, settingsIn } from '../helpers/clients/page-reader.ts'
import { type AcmeServer, startAcmeServer } from '../helpers/edge/acme-server.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import { useOwnService } from '../helpers/own-service.ts'
import { freePort } from '../helpers/service.ts'

const PAGE = 'docs/how-to/https-and-domain.md'
const PART = 'Recipe: automatic certificates by ACME'
const SERVE = 'mkdir -p /www; echo hello > /www/index.html; exec httpd -f -p 8080 -h /www'

let ca: AcmeServer
let port: number
const own = useOwnService()
const commandLine = useCommandLine(own)
const issuer = (): string => join(commandLine.directory(), 'issuer.pem')

const reader = new PageReader({
  page: PAGE,
  part: PART,
  commandLine,
  here: (text) => text.replace('curl -s', `curl -s --cacert ${issuer()} --connect-to ::127.0.0.1:${port}`),
  perform: (command) => (command === 'systemctl restart boxyard-agent boxyard-front' ? restart() : null),
})

/** Restarts the agent with the settings of the page. Replaces the reader's ports and CA with this test's own. */
async function restart(): Promise<void> {
  const { BOXYARD_EDGE_HOST: host, ...settings } = settingsIn(partOf(PAGE, PART).text)
  expect([host, Object.keys(settings).sort()]).toEqual([
    '0.0.0.0',
    [
      'BOXYARD_DOMAIN',
      'BOXYARD_EDGE_ACME',
      'BOXYARD_EDGE_ACME_DIRECTORY',
      'BOXYARD_EDGE_ACME_ROOT',
      'BOXYARD_EDGE_HTTP_PORT',
      'BOXYARD_EDGE_PORT',
    ],
  ])
  const httpPort = await freePort()
  port = await freePort()
  ca = await startAcmeServer({ tlsPort: port, httpPort })
  writeFileSync(issuer(), ca.issuer)
  await own.service().killAgent('SIGTERM')
  await own.service().startAgent({
    ...settings,
    BOXYARD_EDGE_PORT: String(port),
    BOXYARD_EDGE_HTTP_PORT: String(httpPort),
    BOXYARD_EDGE_ACME_DIRECTORY: ca.directory,
    BOXYARD_EDGE_ACME_ROOT: ca.root,
    BOXYARD_EDGE_RESOLVERS: ca.resolver,
  })
}

beforeAll(async () => {
  expect((await own.client.post('/v1/projects/demo/boxes', { name: 'web', config: { ram_mb: 64 } })).status).toBe(201)
  const command = ['/bin/sh', '-c', SERVE]
  const spec = { command, port: 8080, readiness: { tcp: true } }
  expect((await own.client.put('/v1/projects/demo/boxes/web/services/page', spec)).status).toBeLessThan(300)
})
afterAll(() => ca?.close())

describe(`the commands in ${PAGE}, ${PART}`, () => {
  test.each(reader.commands)('line $line: $command', async (command) => {
    await reader.follow(command)
    // The reader adds the record that the refusal names.
    if (command.shown.some((line) => line.includes('_boxyard-challenge'))) await addRecord()
  })
})

async function addRecord(): Promise<void> {
  await untilSucceeds(async () => {
    const domains = ['shop.example.org']
    const { body } = await own.client.post('/v1/projects/demo/boxes/web/publish', { domains })
    const [, name = '', text = ''] = /TXT record (\S+) with the value (\S+) /.exec(body.detail) ?? []
    expect(name).toBe('_boxyard-challenge.shop.example.org')
    ca.texts.set(name, [text])
  })
}
