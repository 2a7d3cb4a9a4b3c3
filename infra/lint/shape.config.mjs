import tseslint from 'typescript-eslint'
import { boxyardRules } from './rules.mjs'

// The rules of ARCHITECTURE.md that need no types: sizes, single owners, names. Used by eslint.config.mjs and
// tests/architecture.

/** Files with side effects on import. */
const ENTRIES = [
  'agent/**/main.ts',
  'agent/lib/*/worker.ts',
  'functions/rest.ts',
  'functions/standalone.ts',
  'infra/*.ts',
  'tests/**',
]

/** Rules about things with one owner, each with the files that it exempts. */
const OWNERS = {
  'one-spawner': ['agent/lib/run.ts', 'infra/**', 'tests/**'],
  'one-ffi': ['agent/lib/syscalls/*.ts'],
  'one-sql': ['agent/drivers/store/*.ts', 'tests/**'],
  'one-websocket': ['agent/server/streams.ts', 'infra/console.ts', 'tests/**'],
  'one-aws-sdk': ['agent/drivers/backups/store-s3.ts'],
  'one-environment': ['agent/config/agent.ts', 'functions/config.ts', 'infra/**', 'tests/**'],
  'one-clock': [
    'agent/compose/agent.ts',
    'agent/**/main.ts',
    'functions/rest.ts',
    'functions/standalone.ts',
    'infra/**',
    'tests/**',
  ],
  'nothing-at-import': ENTRIES,
}

/** Files exempt from the parameter limit: mirrors of system calls, and tables of tests. */
const WIDE = ['agent/lib/syscalls/*.ts', 'tests/**']

/** Functions that hold a suite of tests for several services. */
const SUITES = ['tests/**/{suite,*-suite}.ts']

export default [
  { ignores: ['.build/', '.serverless/', 'dist/', 'coverage/', 'tests/fixtures/'] },
  {
    files: ['**/*.ts'],
    languageOptions: { parser: tseslint.parser },
    plugins: { boxyard: { rules: boxyardRules } },
    rules: {
      'boxyard/file-name': 'error',
      'boxyard/function-size': ['error', 70],
      'boxyard/no-barrel': 'error',
      'boxyard/no-default-export': 'error',
      'boxyard/no-skipped-test': 'error',
      'boxyard/zod-namespace': 'error',
      'max-lines': ['error', 300],
      'max-params': ['error', 3],
    },
  },
  ...Object.entries(OWNERS).map(([rule, ignores]) => ({
    files: ['**/*.ts'],
    ignores,
    rules: { [`boxyard/${rule}`]: 'error' },
  })),
  { files: SUITES, rules: { 'boxyard/function-size': 'off' } },
  { files: WIDE, rules: { 'max-params': 'off' } },
]
