import ts from 'typescript'

/** A range of a source and its replacement. Without a replacement, the range is a statement, and the mutant drops it. */
export interface MutationSite {
  operator: string
  start: number
  end: number
  replacement: string | undefined
  /** True if an expression statement begins with the range. */
  opensStatement: boolean
}

type Edit = Pick<MutationSite, 'replacement'> & { node: ts.Node }

/**
 * The ten operators. Their results run without a compiler, because Node.js only strips types. They skip changes that rarely change
 * behaviour: text with spaces (messages and descriptions), property names, loop conditions (such mutants only hang) and types.
 */
const OPERATORS: Readonly<Record<string, (node: ts.Node) => Edit | undefined>> = {
  condition(node) {
    const condition = ts.isIfStatement(node)
      ? node.expression
      : ts.isConditionalExpression(node)
        ? node.condition
        : null
    // The operator `comparison` negates these.
    if (condition === null || (ts.isBinaryExpression(condition) && isEquality(condition.operatorToken)))
      return undefined
    return { node: condition, replacement: `!(${condition.getText()})` }
  },
  boolean(node) {
    if (node.kind === ts.SyntaxKind.TrueKeyword) return { node, replacement: 'false' }
    return node.kind === ts.SyntaxKind.FalseKeyword ? { node, replacement: 'true' } : undefined
  },
  comparison: (node) => swapOperator(node, COMPARISONS),
  logical(node) {
    if (!ts.isBinaryExpression(node)) return undefined
    if (node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
      return { node, replacement: node.left.getText() }
    return swapOperator(node, CONNECTIVES)
  },
  arithmetic: (node) => (isConcatenation(node) ? undefined : swapOperator(node, CALCULATIONS)),
  statement(node) {
    const isDropped = ts.isThrowStatement(node) || (ts.isExpressionStatement(node) && hasEffect(node.expression))
    return isDropped ? { node, replacement: undefined } : undefined
  },
  return(node) {
    const value = ts.isReturnStatement(node) ? node.expression : ts.isArrowFunction(node) ? node.body : undefined
    if (value === undefined || ts.isBlock(value) || IS_CONSTANT.test(value.getText())) return undefined
    return { node: value, replacement: 'undefined' }
  },
  // Few tests can notice a timeout of 30,001 ms, so large numbers become zero.
  number(node) {
    if (!ts.isNumericLiteral(node) || isName(node)) return undefined
    const value = Number(node.text)
    return { node, replacement: value < SMALL ? String(value + 1) : '0' }
  },
  string(node) {
    if (!ts.isStringLiteral(node) || isName(node) || /\s/.test(node.text)) return undefined
    return { node, replacement: node.text === '' ? "'mutant'" : "''" }
  },
  method(node) {
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined
    const { expression, name } = node.expression
    if (INVERTED.has(name.text)) return { node, replacement: `!${node.getText()}` }
    if (DROPPED.has(name.text)) return { node, replacement: expression.getText() }
    const other = OPPOSITES.get(name.text)
    if (other === undefined) return undefined
    const [from, to] = [name.getStart() - node.getStart(), name.getEnd() - node.getStart()]
    const text = node.getText()
    return { node, replacement: text.slice(0, from) + other + text.slice(to) }
  },
}

/** The names of all operators, in the order of reports. */
export const OPERATOR_NAMES = Object.keys(OPERATORS)

/** Finds all places of the operators in a TypeScript source, in the order of `compareSites`. */
export function findSites(text: string): MutationSite[] {
  const source = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true)
  const sites: MutationSite[] = []
  const visit = (node: ts.Node): void => {
    if (isWithoutBehaviour(node)) return
    for (const [operator, find] of Object.entries(OPERATORS)) {
      const edit = find(node)
      if (edit === undefined || isWithinChain(edit.node)) continue
      const [start, end] = [edit.node.getStart(), edit.node.getEnd()]
      sites.push({ operator, start, end, replacement: edit.replacement, opensStatement: opensStatement(edit.node) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return sites.sort(compareSites)
}

/** Orders sites by start, outer ones first. A statement is outside of an expression with the same range. */
export function compareSites(a: MutationSite, b: MutationSite): number {
  return a.start - b.start || b.end - a.end || rank(a) - rank(b)
}

function rank({ operator, replacement }: MutationSite): number {
  return replacement === undefined ? -1 : OPERATOR_NAMES.indexOf(operator)
}

function swapOperator(node: ts.Node, swaps: Readonly<Record<string, string>>): Edit | undefined {
  if (!ts.isBinaryExpression(node)) return undefined
  const other = swaps[node.operatorToken.getText()]
  return other === undefined
    ? undefined
    : { node, replacement: `${node.left.getText()} ${other} ${node.right.getText()}` }
}

function isEquality({ kind }: ts.Node): boolean {
  return kind === ts.SyntaxKind.EqualsEqualsEqualsToken || kind === ts.SyntaxKind.ExclamationEqualsEqualsToken
}

function isConcatenation(node: ts.Node): boolean {
  if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) return true
  return ts.isBinaryExpression(node) && (isConcatenation(node.left) || isConcatenation(node.right))
}

function hasEffect(expression: ts.Expression): boolean {
  if (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression)) return hasEffect(expression.expression)
  if (ts.isBinaryExpression(expression)) return expression.operatorToken.getText().endsWith('=')
  if (ts.isCallExpression(expression)) return expression.expression.kind !== ts.SyntaxKind.SuperKeyword
  return ts.isPostfixUnaryExpression(expression) || ts.isDeleteExpression(expression)
}

/** Returns true for a property name, including one in brackets. */
function isName(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isElementAccessExpression(parent)) return parent.argumentExpression === node && ts.isStringLiteral(node)
  return 'name' in parent && parent.name === node
}

function isWithoutBehaviour(node: ts.Node): boolean {
  if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return true
  return ts.isImportDeclaration(node) || ts.isExportDeclaration(node)
}

/** Returns true inside an optional chain. Parentheses there would end its short circuit. */
function isWithinChain(node: ts.Node): boolean {
  const { parent } = node
  return ts.isOptionalChain(node) && ts.isOptionalChain(parent) && parent.expression === node
}

function opensStatement(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isSourceFile(parent) || parent.getStart() !== node.getStart()) return false
  return ts.isExpressionStatement(parent) || opensStatement(parent)
}

const COMPARISONS = { '<': '<=', '<=': '<', '>': '>=', '>=': '>', '===': '!==', '!==': '===' }
const CONNECTIVES = { '&&': '||', '||': '&&' }
const CALCULATIONS = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '+=': '-=', '-=': '+=' }
const INVERTED = new Set(['has', 'includes', 'test'])
const DROPPED = new Set('filter sort toSorted reverse toReversed slice trim toLowerCase replaceAll'.split(' '))
const OPPOSITES = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['startsWith', 'endsWith'],
  ['endsWith', 'startsWith'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
  ['find', 'findLast'],
  ['push', 'unshift'],
  ['shift', 'pop'],
])
const IS_CONSTANT = /^\(?(true|false|null|undefined)\)?$/
const SMALL = 10
