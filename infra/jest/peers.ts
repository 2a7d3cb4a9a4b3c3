import { findAcmeServer } from '../acme-server/program.ts'
import { findAwsEmulator } from '../aws-emulator/program.ts'
import { findClientGenerators } from '../client-generators/program.ts'
import { findLambdaRuntime } from '../lambda-runtime/program.ts'
import { findObjectStore } from '../object-store/program.ts'
import { findOpenApiGenerator } from '../openapi-generator/program.ts'
import { findSdkRuntimes } from '../sdk-runtimes/program.ts'

/** Programs that tests run against, each with the variable that gives the tests its path. */
export const PEERS = {
  'object-store': { find: findObjectStore, variable: 'TEST_OBJECT_STORE' },
  'acme-server': { find: findAcmeServer, variable: 'TEST_ACME_SERVER' },
  'lambda-runtime': { find: findLambdaRuntime, variable: 'TEST_LAMBDA_RUNTIME' },
  'aws-emulator': { find: findAwsEmulator, variable: 'TEST_AWS_EMULATOR' },
  'client-generators': { find: findClientGenerators, variable: 'TEST_CLIENT_GENERATORS' },
  'openapi-generator': { find: findOpenApiGenerator, variable: 'TEST_OPENAPI_GENERATOR' },
  'sdk-runtimes': { find: findSdkRuntimes, variable: 'TEST_SDK_RUNTIMES' },
}

export type PeerName = keyof typeof PEERS
