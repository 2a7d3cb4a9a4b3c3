export default {
  testEnvironment: '<rootDir>/tests/environment.mjs',
  testSequencer: '<rootDir>/tests/sequencer.mjs',
  reporters: ['default', '<rootDir>/infra/jest/watch.mjs'],
  // Even one worker is a process of its own, with its own mounts (infra/jest/workers.mjs): jest runs no file in its own process then.
  workerIdleMemoryLimit: '8GB',
  // A worker closes the service that its files shared (tests/helpers/worker-service.ts) before it ends.
  workerGracefulExitTimeout: 120_000,
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  injectGlobals: false,
  // As the web console finds it.
  moduleNameMapper: { '^@boxyard/sdk$': '<rootDir>/sdk/typescript/src/index.ts' },
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/.build', '<rootDir>/dist', '<rootDir>/.serverless'],
  // Far above what any test takes alone, for slow machines with other work; a file that hangs is ended by infra/jest/watch.mjs.
  testTimeout: 300_000,
  watchman: false,
}
