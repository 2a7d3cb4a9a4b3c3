import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation'
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager'
import {
  DeleteParametersCommand,
  GetParametersByPathCommand,
  PutParameterCommand,
  SSMClient,
} from '@aws-sdk/client-ssm'
import type { StageKeys } from './agent-keys.ts'

/** The resources of a stage in an account and one region. */
export interface Account {
  /** Parameters below `/boxyard/<stage>/`, by their last part. */
  readParameters(): Promise<Map<string, string>>
  writeParameter(name: string, value: string): Promise<void>
  deleteParameters(names: readonly string[]): Promise<void>
  /** The keys, and the version of the secret that holds them. Null if there is none. */
  readKeys(): Promise<{ keys: StageKeys; version: string } | null>
  /** Returns the version. */
  writeKeys(keys: StageKeys, exists: boolean): Promise<string>
  /** Deletes the secret without the days of grace, for which it would be billed. */
  deleteKeys(): Promise<void>
  /** Outputs of the stack by name, or null if there is none. */
  readStack(): Promise<Map<string, string> | null>
}

/** Opens the account that the environment has credentials for. */
export function openAccount(stage: string, region: string): Account {
  const parameters = new SSMClient({ region })
  const secrets = new SecretsManagerClient({ region })
  const stacks = new CloudFormationClient({ region })
  const path = `/boxyard/${stage}`
  const secret = `boxyard/${stage}/keys`
  return {
    readParameters: () => readParameters(parameters, path),
    writeParameter: async (name, value) => {
      await parameters.send(
        new PutParameterCommand({ Name: `${path}/${name}`, Value: value, Type: 'String', Overwrite: true }),
      )
    },
    deleteParameters: async (names) => {
      for (let from = 0; from < names.length; from += DELETED_AT_ONCE) {
        const some = names.slice(from, from + DELETED_AT_ONCE).map((name) => `${path}/${name}`)
        await parameters.send(new DeleteParametersCommand({ Names: some }))
      }
    },
    readKeys: async () => {
      const read = secrets.send(new GetSecretValueCommand({ SecretId: secret })).catch(nullIfMissing)
      const answer = await read
      if (answer?.SecretString === undefined || answer.VersionId === undefined) return null
      return { keys: JSON.parse(answer.SecretString) as StageKeys, version: answer.VersionId }
    },
    writeKeys: async (keys, exists) => {
      const SecretString = JSON.stringify(keys)
      const { VersionId = '' } = exists
        ? await secrets.send(new PutSecretValueCommand({ SecretId: secret, SecretString }))
        : await secrets.send(
            new CreateSecretCommand({
              Name: secret,
              Description: `Keys of Boxyard's functions, stage ${stage}`,
              SecretString,
            }),
          )
      return VersionId
    },
    deleteKeys: async () => {
      await secrets
        .send(new DeleteSecretCommand({ SecretId: secret, ForceDeleteWithoutRecovery: true }))
        .catch(nullIfMissing)
    },
    readStack: () => readOutputs(stacks, `boxyard-${stage}`),
  }
}

async function readParameters(client: SSMClient, path: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  let next: string | undefined
  do {
    const page = await client.send(new GetParametersByPathCommand({ Path: path, ...(next ? { NextToken: next } : {}) }))
    for (const { Name = '', Value = '' } of page.Parameters ?? []) found.set(Name.slice(path.length + 1), Value)
    next = page.NextToken
  } while (next)
  return found
}

async function readOutputs(client: CloudFormationClient, name: string): Promise<Map<string, string> | null> {
  try {
    const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: name }))
    const outputs = Stacks?.[0]?.Outputs ?? []
    return new Map(outputs.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]))
  } catch (error) {
    // The one answer for a missing stack. CloudFormation has no specific code for it.
    if (error instanceof Error && error.name === 'ValidationError' && /does not exist/.test(error.message)) return null
    throw error
  }
}

function nullIfMissing(error: unknown): null {
  if (error instanceof ResourceNotFoundException) return null
  throw error
}

/** The maximum of one call. */
const DELETED_AT_ONCE = 10
