import { findAcmeServer } from '../acme-server/program.ts'
import { findAwsEmulator } from '../aws-emulator/program.ts'
import { findClientGenerators } from '../client-generators/program.ts'
import { findLambdaRuntime } from '../lambda-runtime/program.ts'
import { findObjectStore } from '../object-store/program.ts'
import { findOpenApiGenerator } from '../openapi-generator/program.ts'
import { findSdkRuntimes } from '../sdk-runtimes/program.ts'

/** Programs that tests run against, each with the folder of these tests and the variable that gives them the program's path. */
export const PEERS = {
  'object-store': { find: findObjectStore, variable: 'TEST_OBJECT_STORE', path: 'tests/object-store/' },
  'acme-server': { find: findAcmeServer, variable: 'TEST_ACME_SERVER', path: 'tests/acme/' },
  'lambda-runtime': { find: findLambdaRuntime, variable: 'TEST_LAMBDA_RUNTIME', path: 'tests/lambda/' },
  'aws-emulator': { find: findAwsEmulator, variable: 'TEST_AWS_EMULATOR', path: 'tests/aws/' },
  'client-generators': { find: findClientGenerators, variable: 'TEST_CLIENT_GENERATORS', path: 'tests/clients/' },
  'openapi-generator': {
    find: findOpenApiGenerator,
    variable: 'TEST_OPENAPI_GENERATOR',
    path: 'tests/openapi-generator/',
  },
  'sdk-runtimes': { find: findSdkRuntimes, variable: 'TEST_SDK_RUNTIMES', path: 'tests/runtimes/' },
}

export type PeerName = keyof typeof PEERS
