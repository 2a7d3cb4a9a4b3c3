const rules = {
  'one-spawner': banImport(
    /^(node:)?child_process$/,
    'Only agent/lib/run.ts starts processes, and cli/programs.ts, which puts a -- before words that are not ours.',
  ),
  'one-terminal': ban(
    'CallExpression[callee.property.name="write"][callee.object.property.name=/^std(out|err)$/]',
    'Text goes through cli/output/terminal.ts, which shows what would command the terminal of the user.',
  ),
  'one-exit': ban(
    ':matches(MemberExpression[object.name="process"]:matches([property.name=/^(exit|exitCode|reallyExit|abort)$/], [property.value=/^(exit|exitCode|reallyExit|abort)$/]), ImportSpecifier[parent.source.value=/^(node:)?process$/][imported.name=/^(exit|exitCode|reallyExit|abort)$/])',
    'Only cli/output/outputs.ts ends the process, once all that was written has left. Return the exit code.',
  ),
  'one-ffi': banImport(/^koffi$/, 'Only agent/lib/syscalls call native code.'),
  'one-sql': banImport(/^node:sqlite$/, 'Only the SQLite store speaks SQL.'),
  'one-websocket': banImport(
    /^ws$/,
    "Only agent/server/socket-acceptor.ts makes WebSockets; infra/console.ts and the SDK's message-socket.ts use them.",
  ),
  'one-aws-sdk': banImport(/^@aws-sdk\//, 'Only drivers/backups/store-s3.ts and infra/aws/ speak to AWS.'),
  'one-environment': ban(
    'MemberExpression[object.name="process"][property.name="env"], ImportSpecifier[parent.source.value=/^(node:)?process$/][imported.name="env"]',
    'Only agent/config and functions/config.ts read the environment.',
  ),
  'one-clock': ban(
    'MemberExpression[object.name="Date"][property.name="now"], NewExpression[callee.name="Date"][arguments.length=0], CallExpression[callee.name="Date"]',
    'Take the time from the Clock; only compose/agent.ts and the entries know the real one.',
  ),
  'one-repeater': ban(
    'CallExpression[callee.name="setInterval"]',
    'Repeat work with shared/repeat.ts: an error in a bare timer ends the process.',
  ),
  'nothing-at-import': ban('Program > ExpressionStatement', 'Nothing happens when a module is imported.'),
  'no-barrel': ban(
    'ExportAllDeclaration, ExportNamedDeclaration[source]',
    'Import a thing from the file that defines it; nothing is exported a second time.',
  ),
  'no-default-export': ban('ExportDefaultDeclaration, ExportSpecifier[exported.name="default"]', 'Exports have names.'),
  'no-skipped-test': ban(
    'MemberExpression[object.name=/^(describe|it|test)$/][property.name=/^(skip|only|todo|failing|skipIf)$/], CallExpression[callee.name=/^(xit|xtest|xdescribe|fit|fdescribe)$/]',
    'A test runs, or is not there.',
  ),
  'zod-namespace': ban(
    'ImportDeclaration[source.value=/^zod(\\u002F.*)?$/] > :matches(ImportSpecifier, ImportDefaultSpecifier)',
    "Write `import * as z from 'zod'`: the named import pulls every locale into a bundle.",
  ),
  'file-name': { meta: { type: 'suggestion', schema: [] }, create: checkFileName },
  'function-size': { meta: { type: 'suggestion', schema: [{ type: 'integer' }] }, create: checkFunctionSize },
}

/** The plugin of .oxlintrc.json with rules that no other plugin has, for single owners, sizes and shapes (docs/design/source-tree.md). */
export default { meta: { name: 'boxyard' }, rules }

function ban(selector, message) {
  return {
    meta: { type: 'problem', schema: [] },
    create: (context) => ({ [selector]: (node) => context.report({ node, message }) }),
  }
}

/** Bans an import, except of types, which are erased before the program runs. */
function banImport(source, message) {
  const check = (context) => (node) => {
    const isTypeOnly =
      node.importKind === 'type' ||
      (node.specifiers?.length > 0 && node.specifiers.every((specifier) => specifier.importKind === 'type'))
    if (!isTypeOnly && source.test(node.source?.value)) context.report({ node, message })
  }
  return {
    meta: { type: 'problem', schema: [] },
    create: (context) => ({
      ImportDeclaration: check(context),
      ImportExpression: check(context),
      'CallExpression[callee.name="require"], CallExpression[callee.property.name="getBuiltinModule"]': (node) => {
        if (source.test(node.arguments[0]?.value)) context.report({ node, message })
      },
    }),
  }
}

/** The same as max-lines-per-function, but exempts `describe` callbacks, which group tests. */
function checkFunctionSize(context) {
  const check = (node) => {
    const { parent, loc } = node
    const lines = loc.end.line - loc.start.line + 1
    const callee = parent.type === 'CallExpression' ? context.sourceCode.getText(parent.callee) : ''
    if (lines <= context.options[0] || callee.startsWith('describe')) return
    context.report({ node, message: `A function of ${lines} lines; at most ${context.options[0]}.` })
  }
  return { FunctionDeclaration: check, FunctionExpression: check, ArrowFunctionExpression: check }
}

function checkFileName(context) {
  const name = context.filename.split('/').at(-1)
  return {
    Program: (node) => {
      if (!/^[a-z0-9]+(-[a-z0-9]+)*(\.(test|d))?\.tsx?$/.test(name)) {
        context.report({ node, message: 'Files are named in kebab-case.' })
      }
      if (
        /^(utils?|helpers?|types|common|misc|.*manager)\.ts$/.test(name) &&
        !context.filename.endsWith('schemas/common.ts')
      ) {
        context.report({ node, message: 'Name the file for the one thing inside.' })
      }
    },
  }
}
