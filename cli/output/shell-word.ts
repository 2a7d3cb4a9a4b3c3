/** Quotes a word for a shell, where it needs that. A pure function. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
