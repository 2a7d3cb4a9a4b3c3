import { forbiddenAreas } from './infra/lint/areas.ts'

/** Forbidden imports between layers (ARCHITECTURE.md#layers). Type-only imports count as imports. */
const LAYERS = [
  {
    name: 'shared-imports-nothing-of-ours',
    from: '^shared/',
    to: '^(functions|agent|sdk|cli|web|infra|tests)/',
    comment: 'shared is the contract: it knows neither side.',
  },
  {
    name: 'functions-import-only-shared',
    from: '^functions/',
    to: '^(agent|sdk|cli|web|infra|tests)/',
    comment: 'The functions reach the agent by the channel, never by its code.',
  },
  {
    name: 'agent-imports-only-shared',
    from: '^agent/',
    to: '^(functions|sdk|cli|web|infra|tests)/',
    comment: 'The agent knows nothing of who calls it.',
  },
  {
    name: 'sdk-imports-nothing-of-ours',
    from: '^sdk/',
    to: '^(shared|functions|agent|cli|web|infra|tests)/',
    comment: 'A client knows the service by its OpenAPI document alone.',
  },
  {
    name: 'cli-imports-only-the-sdk',
    from: '^cli/',
    to: '^(shared|functions|agent|web|infra|tests)/',
    comment: 'The command line is a user of the SDK.',
  },
  {
    name: 'web-imports-only-the-sdk',
    from: '^web/',
    to: '^(shared|functions|agent|cli|infra|tests)/',
    comment: 'The web console is a user of the SDK.',
  },
  {
    name: 'core-imports-ports-and-shared',
    from: '^agent/core/',
    to: '^agent/(?!core/|ports/)',
    comment: 'The rules know no Linux, no Kubernetes and no server.',
  },
  {
    name: 'ports-import-ports-and-shared',
    from: '^agent/ports/',
    to: '^agent/(?!ports/)',
    comment: 'Ports are interfaces: they know no side of theirs.',
  },
  {
    name: 'drivers-import-ports-lib-and-shared',
    from: '^agent/drivers/',
    to: '^agent/(?!drivers/|ports/|lib/)',
    comment: 'A driver knows its port and the system, not the rules.',
  },
  {
    name: 'lib-imports-lib-and-shared',
    from: '^agent/lib/',
    to: '^agent/(?!lib/)',
    comment: 'lib speaks to the system and knows nothing of boxes.',
  },
  {
    name: 'handlers-import-core-and-shared',
    from: '^agent/handlers/',
    to: '^agent/(?!handlers/|core/|ports/)',
    comment: 'A handler turns an operation into a call of the core.',
  },
  {
    name: 'server-gets-handlers-injected',
    from: '^agent/server/',
    to: '^agent/(handlers|drivers|lib|shim|doctor)/',
    typesAllowed: true,
    comment: 'The server serves what it is given: of handlers it knows the types.',
  },
  {
    name: 'shim-imports-drivers-ports-lib-and-shared',
    from: '^agent/shim/',
    to: '^agent/(?!shim/|drivers/|ports/|lib/)',
    comment: 'The shim starts commands as the drivers do, and knows no rules: it outlives the agent and stays small.',
  },
  {
    name: 'doctor-imports-config-drivers-and-lib',
    from: '^agent/doctor/',
    to: '^agent/(?!doctor/|config/|drivers/|ports/|lib/)',
    comment: 'doctor looks at the system while nothing is wired, and knows no rules of the service.',
  },
  {
    name: 'config-imports-ports-lib-and-shared',
    from: '^agent/config/',
    to: '^agent/(?!config/|ports/|lib/)',
    comment: 'Settings are read before anything is wired.',
  },
  {
    name: 'only-compose-wires',
    from: '^agent/(?!compose/|drivers/|shim/|doctor/)',
    to: '^agent/drivers/',
    comment:
      'compose is the only place that picks and wires drivers; the shim is a process of its own, doctor only looks.',
  },
  {
    name: 'nothing-imports-its-wiring',
    from: '^agent/(?!compose/|config/|doctor/)[^/]+/',
    to: '^agent/(compose/|config/|[^/]+\\.ts$)',
    comment: 'What is wired does not know its wiring, nor the settings of the whole.',
  },
]

/** Forbidden imports between the areas of each layer, from `infra/lint/areas.ts`. */
const AREA_RULES = forbiddenAreas().map(({ layer, area, allowed }) => ({
  name: `${layer.replaceAll('/', '-')}-${area}-imports-lower-areas`,
  from: `^${layer}/${area}/`,
  to: `^${layer}/(?!(${allowed.join('|')})/)[^/]+/`,
  comment: 'An area imports only areas below it: infra/lint/areas.ts.',
}))

export default {
  forbidden: [
    ...[...LAYERS, ...AREA_RULES].map(({ name, from, to, comment, typesAllowed }) => ({
      name,
      severity: 'error',
      comment,
      from: { path: from },
      to: { path: to, ...(typesAllowed ? { dependencyTypesNot: ['type-only'] } : {}) },
    })),
    {
      name: 'bench-runs-without-jest',
      severity: 'error',
      comment: 'The benchmarks are a program of their own, in which a helper that imports jest does not load.',
      from: { path: '^tests/bench/main\\.ts$' },
      to: { path: 'node_modules/@jest/globals', reachable: true },
    },
    {
      name: 'no-import-cycle',
      severity: 'error',
      comment: 'Two files that need each other are one file, or miss a third.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolved-import',
      severity: 'error',
      comment: 'An import that is not resolved is not checked either. (What only has types is left to tsc.)',
      from: {},
      to: { couldNotResolve: true, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-development-package-in-product',
      severity: 'error',
      comment: 'What runs in production is a dependency.',
      from: { path: '^(shared|functions|agent)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(\\.build|\\.serverless|dist|coverage|tests/fixtures)/' },
    moduleSystems: ['es6'],
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['node', 'import', 'default'] },
  },
}
