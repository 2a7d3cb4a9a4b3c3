export default {
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  injectGlobals: false,
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/.build', '<rootDir>/dist', '<rootDir>/.serverless'],
  testTimeout: 30_000,
  watchman: false,
}
