import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { CONSOLE_DIRECTORY } from '../../infra/web/build.ts'
import {
  type ChannelKeySet,
  createChannelKeys,
  createTokenKeys,
  publicTokenKeys,
  rotateChannelKeys,
} from '../../shared/auth/keys.ts'
import { makeCertificates } from '../helpers/aws/certificates.ts'
import { type AwsEmulator, type CommandOutcome, type Inventory, startAwsEmulator } from '../helpers/aws/emulator.ts'
import { type Packed, packFunction } from '../helpers/lambda/packed.ts'

// Runs `npm run deploy` against an emulator of AWS (moto). The emulator lacks the architecture of a function. It lacks in-place updates of
// the API, alarms and domains. It does not delete resources whose condition has become false. It lacks distributions, so
// tests/lambda/console.test.ts serves from that part of the template. It keeps CloudFormation's references to secrets unresolved, so
// `resolve` below follows them as CloudFormation does.
const directory = mkdtempSync(join(tmpdir(), 'boxyard-deploy-'))
const keys = join(directory, 'keys')
const ACCOUNT = 'arn:aws:acm:eu-central-1:123456789012:certificate/0d0c0b0a-0000-4000-8000-000000000000'
const CONSOLE = 'arn:aws:acm:us-east-1:123456789012:certificate/0d0c0b0a-0000-4000-8000-000000000001'
const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:operators'
const said: string[] = []
let emulator: AwsEmulator
let packed: Omit<Packed, 'runtime'>
let channel: ChannelKeySet
let zone: string

beforeAll(async () => {
  packed = await packFunction(directory, 'plain')
  emulator = await startAwsEmulator()
  makeCertificates(directory)
  channel = createChannelKeys()
  writeKeys()
  writeFileSync(join(keys, 'token-public.json'), JSON.stringify(publicTokenKeys(createTokenKeys()), null, 2))
  const created = await emulator.script(
    "print(boto3.client('route53').create_hosted_zone(Name='example.com', CallerReference='1')['HostedZone']['Id'])",
  )
  zone = created.trim().split('/').at(-1) ?? ''
})

afterAll(async () => {
  await emulator?.close()
  rmSync(directory, { recursive: true, force: true })
})

function writeKeys(): void {
  writeFileSync(join(keys, 'channel.json'), JSON.stringify(channel, null, 2))
}

async function run(...options: string[]): Promise<CommandOutcome> {
  const outcome = await emulator.deploy([...options, '--keys', keys])
  said.push(outcome.text)
  return outcome
}

async function runWell(...options: string[]): Promise<string> {
  const { code, text } = await run(...options)
  if (code !== 0) throw new Error([text, ...emulator.said.slice(-40)].join('\n'))
  return text
}

const inNetwork = [
  '--agent-url',
  'http://10.0.0.5:8090',
  '--subnet-ids',
  'subnet-0a,subnet-0b',
  '--security-group-ids',
  'sg-0a',
]
const overTls = () => [
  ...['--agent-url', 'https://agent.example.com:8090', '--channel-ca', join(directory, 'ca.pem')],
  ...['--channel-cert', join(directory, 'function.pem'), '--channel-key', join(directory, 'function-key.pem')],
  ...['--domain', 'api.example.com', '--certificate', ACCOUNT, '--hosted-zone', zone],
  ...['--console-certificate', CONSOLE],
  ...['--cors-origins', 'https://a.example.com,https://b.example.com', '--alarm-topic', TOPIC],
]

/** Returns the variables of a stage's function, as CloudFormation resolves them. */
function variablesOf(stage: string, { functions, secrets }: Inventory): Record<string, string> {
  const found = functions.find(({ FunctionName }) => FunctionName === `boxyard-${stage}-rest`)
  const variables = found?.Environment.Variables as Record<string, string>
  const resolve = (text: string): string => {
    const [, name, field, version] =
      /^{{resolve:secretsmanager:([^:]+):SecretString:(\w+)::([\w-]+)}}$/.exec(text) ?? []
    if (name === undefined) return text
    const secret = secrets.find(({ Name, VersionId }) => Name === name && VersionId === version)
    const value = secret?.Value[String(field)]
    if (value === undefined) throw new Error(`${text} cannot be resolved`)
    return value
  }
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, resolve(value)]))
}

/** Returns the media type and cache lifetime of each console file, by its path in the bucket. */
async function consoleFiles(): Promise<Record<string, [string, string]>> {
  const { buckets } = await emulator.inventory()
  const text = await emulator.script(`
import json
s3 = boto3.client('s3')
name = ${JSON.stringify(buckets.find((each) => each.includes('console')))}
found = [(item['Key'], s3.head_object(Bucket=name, Key=item['Key'])) for item in s3.list_objects_v2(Bucket=name).get('Contents', [])]
print(json.dumps({key: [head['ContentType'], head['CacheControl']] for key, head in found}))
`)
  return JSON.parse(text)
}

/** Returns an inventory without the times and bundle locations that each deployment changes. */
function lasting(inventory: Inventory): unknown {
  const text = JSON.stringify(inventory, (key, value: unknown) =>
    /^(LastModified|LastUpdatedTime|LastUpdatedDate|LastChangedDate|RevisionId|creationTime)$/.test(key)
      ? undefined
      : value,
  )
  return JSON.parse(text)
}

describe('a deployment', () => {
  test('as a dry run says what would be done, and does nothing', async () => {
    const text = await runWell('--stage', 'plain', ...inNetwork, '--dry-run')
    expect(text).toMatch(/create secret boxyard\/plain\/keys: channel key k-\w+, token keys \w+, no certificates\n/)
    expect(text).toMatch(/create parameter \/boxyard\/plain\/subnet-ids: subnet-0a,subnet-0b\n/)
    expect(text).toMatch(/create stack boxyard-plain\nDry run: nothing changed\.\n$/)
    const { parameters, secrets, stacks, buckets } = await emulator.inventory()
    expect({ parameters, secrets, stacks, buckets }).toEqual({ parameters: {}, secrets: [], stacks: [], buckets: [] })
  })

  test('in a network makes what serverless.yml promises', async () => {
    const text = await runWell('--stage', 'plain', ...inNetwork)
    const inventory = await emulator.inventory()
    const [api] = inventory.apis
    expect(text).toContain(`Boxyard is ready at ${api.ApiEndpoint} (`)
    expect(inventory.functions).toMatchObject([
      {
        ...{ FunctionName: 'boxyard-plain-rest', Handler: 'dist/rest.handler', Runtime: 'nodejs24.x' },
        ...{ Timeout: 29, MemorySize: 512, Role: inventory.roles[0].Arn },
        VpcConfig: { SubnetIds: ['subnet-0a', 'subnet-0b'], SecurityGroupIds: ['sg-0a'] },
        Policy: {
          Statement: [{ Action: 'lambda:InvokeFunction', Principal: { Service: 'apigateway.amazonaws.com' } }],
        },
      },
    ])
    expect(variablesOf('plain', inventory)).toEqual({
      BOXYARD_AGENT_TIMEOUT_SECONDS: '28',
      BOXYARD_AGENT_URL: 'http://10.0.0.5:8090',
      BOXYARD_CHANNEL_KEYS: JSON.stringify(channel),
      BOXYARD_LOG_LEVEL: 'info',
      BOXYARD_TOKEN_KEYS: expect.stringMatching(/^{"keys":\[{"kty":"OKP",/),
    })
    expect(api).toMatchObject({
      ProtocolType: 'HTTP',
      Routes: [{ RouteKey: '$default' }],
      Stages: [{ AutoDeploy: true }],
    })
    expect(api).not.toHaveProperty('CorsConfiguration')
    expect(api.Integrations).toMatchObject([
      { IntegrationUri: inventory.functions[0].FunctionArn, PayloadFormatVersion: '2.0' },
    ])
    expect(Object.keys(inventory.roles[0].Policies).sort()).toEqual(['log', 'network'])
    expect(inventory.roles[0].AttachedPolicies).toEqual([])
    expect(inventory.logs).toMatchObject([{ logGroupName: '/aws/lambda/boxyard-plain-rest', retentionInDays: 30 }])
    expect(inventory.alarms.map(({ AlarmName }) => AlarmName).sort()).toEqual(
      ['5xx', 'duration', 'errors', 'throttles'].map((name) => `boxyard-plain-${name}`),
    )
  })

  test('brings the bundle that is built here', async () => {
    const [{ CodeSha256 }] = (await emulator.inventory()).functions as [{ CodeSha256: string }]
    expect(CodeSha256).toBe(createHash('sha256').update(packed.zip).digest('base64'))
  })

  test('again changes nothing, and needs no settings', async () => {
    const before = lasting(await emulator.inventory())
    const text = await runWell('--stage', 'plain')
    expect(text).toContain('keep   secret boxyard/plain/keys')
    expect(text).not.toMatch(/(create|update) +(parameter|secret)/)
    expect(lasting(await emulator.inventory())).toEqual(before)
  })

  test('of another stage stands beside it: over mutual TLS, with a host name, the console, CORS, and a topic for alarms', async () => {
    const plain = variablesOf('plain', await emulator.inventory())
    const text = await runWell('--stage', 'full', ...overTls())
    expect(text).toMatch(
      /Boxyard is ready at https:\/\/api\.example\.com \(.*\nConsole: https:\/\/api\.example\.com\/\n/,
    )
    const inventory = await emulator.inventory()
    expect(variablesOf('plain', inventory)).toEqual(plain)
    expect(variablesOf('full', inventory)).toMatchObject({
      BOXYARD_AGENT_URL: 'https://agent.example.com:8090',
      BOXYARD_CHANNEL_CA: expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/),
      BOXYARD_CHANNEL_CERT: expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/),
      BOXYARD_CHANNEL_KEY: expect.stringMatching(/^-----BEGIN [A-Z ]*KEY-----\n/),
    })
    const full = inventory.functions.find(({ FunctionName }) => FunctionName === 'boxyard-full-rest')
    expect(full.VpcConfig?.SubnetIds ?? []).toEqual([])
    const role = inventory.roles.find(({ Arn }) => Arn === full.Role)
    expect(Object.keys(role.Policies)).toEqual(['log'])
    const api = inventory.apis.find(({ Name }) => Name === 'full-boxyard')
    expect(api.CorsConfiguration).toMatchObject({
      AllowOrigins: ['https://a.example.com', 'https://b.example.com'],
      AllowHeaders: expect.arrayContaining(['authorization', 'if-match']),
    })
    expect(inventory.domains).toMatchObject([
      {
        DomainName: 'api.example.com',
        DomainNameConfigurations: [{ CertificateArn: ACCOUNT }],
        Mappings: [{ ApiId: api.ApiId, Stage: '$default' }],
      },
    ])
    const record = inventory.zones[0].Records.find(({ Name }: { Name: string }) => /^api\.example\.com\.?$/.test(Name))
    expect(record).toMatchObject({ Type: 'A', AliasTarget: { HostedZoneId: 'Z2FDTNDATAQYW2' } })
    const alarms = inventory.alarms.filter(({ AlarmName }) => AlarmName.startsWith('boxyard-full-'))
    expect(alarms.map(({ AlarmActions, OKActions }) => [AlarmActions, OKActions])).toEqual(
      Array.from({ length: 4 }, () => [[TOPIC], [TOPIC]]),
    )
  })

  test('has the web console in a bucket, its page kept by nobody', async () => {
    const files = await consoleFiles()
    expect(files).toMatchObject({ 'index.html': ['text/html; charset=utf-8', 'no-cache'] })
    const page = readFileSync(join(CONSOLE_DIRECTORY, 'index.html'), 'utf8')
    const assets = [...page.matchAll(/\/(assets\/[^"]+)/g)].map(([, path]) => String(path))
    expect(assets.length).toBeGreaterThan(1)
    for (const path of assets) expect(files[path]?.[1]).toBe('public, max-age=31536000, immutable')
    expect(Object.keys(files).filter((path) => /\.(gz|br)$/.test(path))).toEqual([])
  })

  test('gives up the console, and with it its files', async () => {
    expect(await runWell('--stage', 'full', '--console-certificate', 'none')).not.toContain('Console:')
    expect(await consoleFiles()).toEqual({})
  })

  test('after a rotation brings the new key alone, and keeps certificates and settings', async () => {
    const before = variablesOf('full', await emulator.inventory())
    channel = rotateChannelKeys(channel)
    writeKeys()
    const text = await runWell('--stage', 'full', '--console-certificate', CONSOLE)
    expect(text).toContain(`update secret boxyard/full/keys: channel key ${channel.keys[0]?.id},`)
    expect(text).toMatch(/update web console in bucket boxyard-full-consolebucket-\w+: \d+ files sent/)
    const signing = JSON.stringify({ ...channel, keys: channel.keys.slice(0, 1) })
    expect(variablesOf('full', await emulator.inventory())).toEqual({ ...before, BOXYARD_CHANNEL_KEYS: signing })
  })

  test('shows no key: neither in what it prints, nor in what it leaves in the bucket', async () => {
    const bucket = await emulator.script(`
s3 = boto3.client('s3')
for name in [each['Name'] for each in s3.list_buckets()['Buckets']]:
    for item in s3.list_objects_v2(Bucket=name)['Contents']:
        if not item['Key'].endswith('.zip'): print(s3.get_object(Bucket=name, Key=item['Key'])['Body'].read().decode(errors='replace'))
`)
    expect(bucket).toContain('RestLambdaFunction')
    const { secrets: kept } = await emulator.inventory()
    const pem = kept.map(({ Value }) => String(Value['channel_key']).split('\n')[1] ?? '')
    const secrets = [...channel.keys.map(({ secret }) => secret), ...pem]
    expect(secrets.filter((each) => each !== '')).toHaveLength(3)
    for (const secret of secrets.filter((each) => each !== '')) {
      expect(bucket).not.toContain(secret)
      expect(said.join('\n')).not.toContain(secret)
    }
  })

  test('is taken down without a trace, and the other stage stays', async () => {
    const dry = await runWell('--stage', 'full', '--remove', '--dry-run')
    expect(dry).toMatch(/delete stack boxyard-full,.*\n.*delete secret boxyard\/full\/keys\n/)
    expect((await emulator.inventory()).stacks).toHaveLength(2)
    await runWell('--stage', 'full', '--remove')
    const left = await emulator.inventory()
    expect(JSON.stringify(left)).not.toMatch(/boxyard[-/]full|full-boxyard/)
    expect(left.domains).toEqual([])
    expect(left.stacks.map(({ StackName }) => StackName)).toEqual(['boxyard-plain'])
    await runWell('--stage', 'plain', '--remove')
    const { zones: _zones, ...rest } = await emulator.inventory()
    expect(Object.values(rest).map((found) => Object.keys(found).length)).toEqual(Object.keys(rest).map(() => 0))
    expect(await runWell('--stage', 'plain', '--remove')).toContain('Removed stage plain.')
  })

  test.each([
    [['--remove'], '--remove needs --stage NAME.'],
    [['--stage', 'new'], '--agent-url none: expected http://host:port'],
    [[...inNetwork, '--keys', '/none'], '/none/channel.json is not readable (ENOENT).'],
    [['--subnet', 'x'], "Unknown option '--subnet'"],
  ])('refuses %j in words', async (options, reason) => {
    const { code, text } = await emulator.deploy(['--keys', keys, ...options])
    expect([code, text]).toEqual([1, expect.stringContaining(reason)])
  })
})
