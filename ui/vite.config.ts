import { defineConfig } from 'vite';

// Three files with fixed names: the binary embeds them (src/serve/ui.c).
export default defineConfig({
  base: './',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: {
    target: 'es2020', assetsInlineLimit: 0, cssCodeSplit: false, modulePreload: false, reportCompressedSize: false,
    rollupOptions: { output: { entryFileNames: 'app.js', chunkFileNames: 'app-[name].js', assetFileNames: 'app[extname]', inlineDynamicImports: true } },
  },
});
