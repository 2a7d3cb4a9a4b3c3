import type { ITheme } from '@xterm/xterm'

/** Colours of a terminal on a light and on a dark page, all of them readable on its background. */
export const LIGHT: ITheme = {
  background: '#ffffff',
  foreground: '#16201c',
  cursor: '#16201c',
  selectionBackground: '#b8dccf',
  black: '#16201c',
  red: '#b3261e',
  green: '#14713f',
  yellow: '#7a5a00',
  blue: '#1f5fbf',
  magenta: '#8a2da8',
  cyan: '#0b6e7a',
  white: '#56625c',
  brightBlack: '#56625c',
  brightRed: '#b3261e',
  brightGreen: '#14713f',
  brightYellow: '#7a5a00',
  brightBlue: '#1f5fbf',
  brightMagenta: '#8a2da8',
  brightCyan: '#0b6e7a',
  brightWhite: '#16201c',
}

export const DARK: ITheme = {
  background: '#0f1412',
  foreground: '#e8eeeb',
  cursor: '#e8eeeb',
  selectionBackground: '#2f5a4a',
  black: '#2c3732',
  red: '#ff8f86',
  green: '#62d08e',
  yellow: '#f0c45a',
  blue: '#8ab8ff',
  magenta: '#e0a0ff',
  cyan: '#6fd6e0',
  white: '#e8eeeb',
  brightBlack: '#8a948f',
  brightRed: '#ffb0a9',
  brightGreen: '#8ee3ae',
  brightYellow: '#f7d98a',
  brightBlue: '#b0d0ff',
  brightMagenta: '#ecc4ff',
  brightCyan: '#9de6ed',
  brightWhite: '#ffffff',
}

/** Marks of matches, both all of them and the current one, on a light and on a dark page. */
export const FOUND_LIGHT = {
  matchBackground: '#ffe9a8',
  matchOverviewRuler: '#8a5200',
  activeMatchBackground: '#ffc34d',
  activeMatchColorOverviewRuler: '#b3261e',
}
export const FOUND_DARK = {
  matchBackground: '#5a4a12',
  matchOverviewRuler: '#f0b45a',
  activeMatchBackground: '#8a6a00',
  activeMatchColorOverviewRuler: '#ff8f86',
}
