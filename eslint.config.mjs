import { defineConfig } from 'eslint/config'
import tseslint from 'typescript-eslint'
import shape from './infra/lint/shape.config.mjs'

const typed = {
  files: ['**/*.ts'],
  extends: [tseslint.configs.recommendedTypeChecked],
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  linterOptions: { reportUnusedDisableDirectives: 'error' },
  rules: {
    '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    '@typescript-eslint/no-deprecated': 'error',
    '@typescript-eslint/no-floating-promises': ['error', { checkThenables: true }],
    '@typescript-eslint/no-non-null-assertion': 'error',
    '@typescript-eslint/no-unused-vars': [
      'error',
      { argsIgnorePattern: '^_', caughtErrors: 'none', ignoreRestSiblings: true },
    ],
    // A function may be async only because its interface returns a promise.
    '@typescript-eslint/require-await': 'off',
    '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
    '@typescript-eslint/switch-exhaustiveness-check': 'error',
    // Objects here are records of closures, not instances: their functions need no `this`.
    '@typescript-eslint/unbound-method': 'off',
    eqeqeq: 'error',
    'no-console': 'error',
  },
}

/** Tests read answers untyped: whether an answer has the shape of the contract is what they check. */
const tests = {
  files: ['tests/**/*.ts'],
  rules: Object.fromEntries(
    ['argument', 'assignment', 'call', 'member-access', 'return']
      .map((use) => `no-unsafe-${use}`)
      .concat('no-explicit-any')
      .map((rule) => [`@typescript-eslint/${rule}`, 'off']),
  ),
}

export default defineConfig(...shape, typed, tests)
