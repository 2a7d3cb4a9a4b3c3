export default {
  testEnvironment: '<rootDir>/tests/environment.mjs',
  testSequencer: '<rootDir>/tests/sequencer.mjs',
  reporters: ['default', '<rootDir>/infra/jest-watch.mjs'],
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  injectGlobals: false,
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/.build', '<rootDir>/dist', '<rootDir>/.serverless'],
  // With pods for boxes each step takes about ten times as long.
  testTimeout: process.env['TEST_RUNTIME'] === 'kubernetes' ? 90_000 : 30_000,
  watchman: false,
}
