"""Models of other libraries, and our models for them: conversion of weights, in both directions."""
