import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { HOST_CLAIMS_DIR } from '../../agent/drivers/network/claim.ts'
import { interfacePrefix } from '../../agent/drivers/network/slots.ts'
import { agentCommand } from '../../infra/commands.ts'
import { newImage } from '../helpers/bases/image-archive.ts'
import { startRegistry, type TestRegistry } from '../helpers/bases/registry.ts'
import { useCommandLine } from '../helpers/clients/command-line.ts'
import { PageReader, partOf, settingsIn } from '../helpers/clients/page-reader.ts'
import { certifyHosts, makeCertificate } from '../helpers/edge/certificates.ts'
import { firstOutput, type Outside, openOutside } from '../helpers/network/lab.ts'
import { useOwnService } from '../helpers/own-service.ts'

const PAGE = 'docs/how-to/company-network.md'
const [PROXY, SERVER] = ['10.20.0.5', '10.20.0.6']
const own = useOwnService(async () => ({ settings: { BOXYARD_BASE: 'debian', BOXYARD_BASES: 'busybox' } }))
const commandLine = useCommandLine(own)
const { client } = own
const path = (name: string): string => join(commandLine.directory(), name)
/** nftables table of this test, which affects only its own boxes. */
const table = `boxes_egress_${process.pid}`

let outside: Outside
let company: ChildProcess
let registry: TestRegistry
/** Serves the registry over HTTPS, with a certificate of the company's CA. */
let gateway: Server

/** Replaces the names and paths of a reader's machine with this machine's. */
function here(text: string): string {
  if (text === 'boxyard doctor') return doctor()
  return text
    .replaceAll('proxy.example.org', PROXY)
    .replaceAll('registry.example.org', `127.0.0.1:${(gateway.address() as AddressInfo).port}`)
    .replaceAll('/etc/boxyard/egress.nft', path('egress.nft'))
    .replaceAll('boxes_egress', table)
    .replaceAll('"bx*"', `"${interfacePrefix(instance())}*"`)
}

/** Returns the number of this deployment on this host, which its interface names contain. */
function instance(): number {
  const claims = readdirSync(HOST_CLAIMS_DIR).filter((name) => /^\d+$/.test(name))
  const { dataDir } = own.service()
  return Number(claims.find((name) => readFileSync(join(HOST_CLAIMS_DIR, name), 'utf8').includes(`"${dataDir}"`)))
}

/** Returns the command that the package installs as /usr/bin/boxyard, with the settings of this service. */
function doctor(): string {
  const settings = Object.entries(own.service().environment).map(([name, value = '']) => `'${name}=${value}'`)
  return `env -i ${settings.join(' ')} ${agentCommand(['doctor']).join(' ')}`
}

async function restart(): Promise<void> {
  // The page's nameserver does not exist on this machine.
  const { BOXYARD_DNS: nameserver, ...settings } = settingsIn(here(partOf(PAGE, 'Set up the host').text))
  expect(nameserver).toBe('10.20.0.2')
  expect(Object.keys(settings)).toEqual(['NODE_EXTRA_CA_CERTS', 'BOXYARD_BASE_REGISTRIES', 'BOXYARD_ALLOW_PRIVATE'])
  await own.service().killAgent('SIGTERM')
  await own.service().startAgent({ ...settings, NODE_EXTRA_CA_CERTS: path('company-ca.crt') })
}

const reader = new PageReader({
  page: PAGE,
  commandLine,
  here,
  perform: (command) => (command === 'systemctl restart boxyard-agent boxyard-front' ? restart() : null),
})

beforeAll(async () => {
  outside = await openOutside([PROXY, SERVER])
  const site = certifyHosts(commandLine.directory(), 'site', ['wiki.example.org'])
  writeFileSync(path('site.pem'), `${site.cert}${site.key}`)
  copyFileSync(path('authority.crt'), path('company-ca.crt'))
  const program = [process.execPath, 'tests/fixtures/company.ts', PROXY, SERVER, path('site.pem')]
  company = spawn('nsenter', [`--net=${outside.networkNamespace}`, ...program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await firstOutput(company)
  registry = await startRegistry()
  const at = Number(registry.host.split(':')[1])
  gateway = createServer(makeCertificate(commandLine.directory(), 'registry', 'authority'), (socket) => {
    const line = connect(at, '127.0.0.1')
    socket.pipe(line).pipe(socket)
    for (const each of [socket, line]) each.on('error', () => void [socket, line].map((end) => end.destroy()))
  })
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  await pushTool()
})

/** Pushes an image with the root of a busybox box. */
async function pushTool(): Promise<void> {
  await client.post('/v1/projects/demo/boxes', { name: 'packed', base: 'busybox' })
  const root = (await client.get('/v1/projects/demo/boxes/packed/files/archive?path=/')).bytes
  await client.delete('/v1/projects/demo/boxes/packed')
  const image = newImage()
  const platform = { os: 'linux', architecture: process.arch === 'x64' ? 'amd64' : process.arch }
  const top = image.addIndex([image.addManifest([image.addLayer(root, 'gzip')], { platform })])
  await registry.push('library/tool', image, { tag: '1.0', top })
}

afterAll(async () => {
  try {
    execFileSync('nft', ['delete', 'table', 'inet', table])
  } finally {
    company?.kill('SIGKILL')
    outside?.close()
    gateway?.close()
    await registry?.close()
  }
})

describe(`the commands in ${PAGE}`, () => {
  test.each(reader.commands)('line $line: $command', (command) => reader.follow(command))

  test('leave a base that the deployment can use by default', async () => {
    await own.service().killAgent('SIGTERM')
    await own.service().startAgent({ BOXYARD_BASE: 'company' })
    const made = await client.post('/v1/projects/demo/boxes', { name: 'plain' })
    expect(made.body).toMatchObject({ base: 'company', status: 'running' })
    const { body } = await client.shell('demo', 'plain', 'cat /etc/apt/apt.conf.d/80proxy')
    expect(body.stdout).toContain(`"http://${PROXY}:3128"`)
  })
})
