import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { type AwsEmulator, startAwsEmulator } from '../helpers/aws/emulator.ts'
import { packFunction, type Template } from '../helpers/lambda/packed.ts'

// Compares infra/aws/deployer-policy.json with the calls of CloudFormation that AWS's resource schemas list. (moto can check permissions,
// but knows no resources for them, and rejects S3 signatures.)
interface Statement {
  Action: string | string[]
  Resource: string | string[]
}

const directory = mkdtempSync(join(tmpdir(), 'boxyard-rights-'))
const policy = JSON.parse(readFileSync(join(ROOT, 'infra/aws/deployer-policy.json'), 'utf8')) as {
  Statement: Statement[]
}
let emulator: AwsEmulator
let template: Template

beforeAll(async () => {
  ;({ template } = await packFunction(directory, 'trial'))
  emulator = await startAwsEmulator()
})

afterAll(async () => {
  await emulator?.close()
  rmSync(directory, { recursive: true, force: true })
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

/** Actions of features that the stack does not use: customer keys, S3 tables, file systems, staging, versions, boundaries, … */
const UNUSED = new RegExp(
  [
    '^(kms|s3tables|s3files|elasticfilesystem|firehose):',
    '^s3:(Create|Delete|Put|Update)(Bucket|Inventory|Metrics|Analytics|Lifecycle|Replication|Accelerate|IntelligentTiering|ObjectLock)',
    '^cloudfront:(CreateConnectionGroup|UpdateDistributionWithStagingConfig)$',
    '^s3:(PutObjectAcl|REST)',
    '^lambda:.*(CodeSigning|Concurrency|ScalingConfig|LayerVersion|CapacityProvider|PublishVersion|RuntimeAlias)',
    '^iam:.*(PermissionsBoundary|(Attach|Detach)RolePolicy)',
    '^logs:.*(Kms|LogDelivery|DataProtection|IndexPolic|ResourcePolicy|BearerToken|DeletionProtection)',
  ].join('|'),
)
