import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { createChannelKeys, createTokenKeys, publicTokenKeys } from '../../shared/auth/keys.ts'
import { type Emulator, startEmulator } from '../helpers/aws/emulator.ts'
import { packFunction, type Template } from '../helpers/lambda/packed.ts'

// infra/aws/deployer-policy.json: the calls of a deployment itself are checked by the emulator (moto), which knows no resources but
// those of S3, so that the test gives it the policy with `*` for others. What CloudFormation calls is in AWS's schemas of resources.
interface Statement {
  Action: string | string[]
  Resource: string | string[]
}

const directory = mkdtempSync(join(tmpdir(), 'boxyard-rights-'))
const policy = JSON.parse(readFileSync(join(ROOT, 'infra/aws/deployer-policy.json'), 'utf8')) as {
  Statement: Statement[]
}
let emulator: Emulator
let template: Template

beforeAll(async () => {
  ;({ template } = await packFunction(directory, 'trial'))
  emulator = await startEmulator()
  writeFileSync(join(directory, 'channel.json'), JSON.stringify(createChannelKeys()))
  writeFileSync(join(directory, 'token-public.json'), JSON.stringify(publicTokenKeys(createTokenKeys())))
})

afterAll(async () => {
  await emulator?.close()
  rmSync(directory, { recursive: true, force: true })
})

const isS3 = ({ Action }: Statement): boolean => [Action].flat().every((action) => action.startsWith('s3:'))

test('are enough for a deployment and its end, and are needed', async () => {
  const widened = policy.Statement.map((statement) => (isS3(statement) ? statement : { ...statement, Resource: '*' }))
  const document = JSON.stringify({
    Version: '2012-10-17',
    Statement: widened.filter((each) => !('Condition' in each)),
  })
  const made = await emulator.script(`
iam = boto3.client('iam')
for name in ['deployer', 'nobody']:
    iam.create_user(UserName=name)
    key = iam.create_access_key(UserName=name)['AccessKey']
    print(key['AccessKeyId'], key['SecretAccessKey'])
iam.put_user_policy(UserName='deployer', PolicyName='deploy', PolicyDocument='''${document}''')
`)
  const [deployer, nobody] = made
    .trim()
    .split('\n')
    .map((line) => ({ id: line.split(' ')[0] ?? '', secret: line.split(' ')[1] ?? '' }))
  const network = ['--agent-url', 'http://10.0.0.5:8090', '--subnet-ids', 'subnet-0', '--security-group-ids', 'sg-0']
  const options = ['--stage', 'trial', '--keys', directory]
  await emulator.checkRights(true)
  try {
    // moto words a refusal in XML, which clients of some services cannot read.
    expect((await emulator.deploy([...options, ...network], nobody)).code).toBe(1)
    for (const more of [network, [], ['--remove']]) {
      const { code, text } = await emulator.deploy([...options, ...more], deployer)
      expect(code === 0 ? '' : text).toBe('')
    }
  } finally {
    await emulator.checkRights(false)
  }
  expect((await emulator.inventory()).stacks).toEqual([])
})

test('have what CloudFormation needs for each resource of the stack, and no right over all names but to look', () => {
  const types = new Set(Object.values(template.Resources).map(({ Type }) => Type))
  const needed = new Map<string, Set<string>>()
  for (const path of globSync(
    join(emulator.packages, 'python3*/site-packages/cfnlint/data/schemas/resources/*.json'),
  )) {
    const { typeName, handlers = {} } = JSON.parse(readFileSync(path, 'utf8')) as Schema
    if (!types.has(typeName)) continue
    const all = ['create', 'read', 'update', 'delete'].flatMap((name) => handlers[name]?.permissions ?? [])
    needed.set(typeName, new Set([...(needed.get(typeName) ?? []), ...all]))
  }
  expect([...needed.keys()].sort()).toEqual([...types].sort())
  const allowed = policy.Statement.flatMap(({ Action }) => Action)
  const isAllowed = (action: string): boolean =>
    allowed.some((given) => new RegExp(`^${given.replaceAll('*', '.*')}$`, 'i').test(action))
  const missing = [...needed].flatMap(([type, actions]) =>
    [...actions].filter((action) => !isAllowed(action) && !UNUSED.test(action)).map((action) => `${type} ${action}`),
  )
  expect(missing).toEqual([])
  const overAll = policy.Statement.filter(({ Resource }) => [Resource].flat().includes('*')).flatMap(
    ({ Action }) => Action,
  )
  expect(
    overAll.filter((action) => !/^(ec2|logs):Describe|^route53:List|^cloudformation:ValidateTemplate$/.test(action)),
  ).toEqual([])
})

interface Schema {
  typeName: string
  handlers?: Record<string, { permissions?: string[] }>
}

/** Actions of features that the stack does not use: keys of one's own, tables of S3, file systems, versions, boundaries, … */
const UNUSED = new RegExp(
  [
    '^(kms|s3tables|s3files|elasticfilesystem|firehose):',
    '^s3:(Create|Delete|Put|Update)(Bucket|Inventory|Metrics|Analytics|Lifecycle|Replication|Accelerate|IntelligentTiering|ObjectLock)',
    '^s3:(PutObjectAcl|REST)',
    '^lambda:.*(CodeSigning|Concurrency|ScalingConfig|LayerVersion|CapacityProvider|PublishVersion|RuntimeAlias)',
    '^iam:.*(PermissionsBoundary|(Attach|Detach)RolePolicy)',
    '^logs:.*(Kms|LogDelivery|DataProtection|IndexPolic|ResourcePolicy|BearerToken|DeletionProtection)',
  ].join('|'),
)
