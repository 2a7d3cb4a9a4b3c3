export default {
  testEnvironment: '<rootDir>/tests/environment.mjs',
  testSequencer: '<rootDir>/tests/sequencer.mjs',
  reporters: ['default', '<rootDir>/infra/jest-watch.mjs'],
  // Even one worker is a process of its own, with its own mounts (infra/jest-workers.mjs): jest runs no file in its own process then.
  workerIdleMemoryLimit: '8GB',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  injectGlobals: false,
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/.build', '<rootDir>/dist', '<rootDir>/.serverless'],
  // With pods for boxes each step takes about ten times as long.
  testTimeout: process.env['TEST_RUNTIME'] === 'kubernetes' ? 90_000 : 30_000,
  watchman: false,
}
